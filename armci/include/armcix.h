/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * armcix.h: what ARMCI-MPI adds to ARMCI: groups that are split, and sets of mutexes.
 */
#ifndef RMQ_ARMCIX_H
#define RMQ_ARMCIX_H

#include <armci.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct armcix_mutex_hdl_s* armcix_mutex_hdl_t;

/* Collective over the parent. */
int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* group);
int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* group);

/* Collective over the group, whose members are what `proc` names. Trylock returns 0 when it has the mutex. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group* group);
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t mutexes);
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc);
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t mutexes, int mutex, int proc);

void ARMCIX_Progress(void);

#ifdef __cplusplus
}
#endif

#endif
