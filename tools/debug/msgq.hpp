// SPDX-License-Identifier: BSD-3-Clause
// The interface between a debugger and a library that reads an MPI's message queues, as the MPI Forum's "MPI Message
// Queue Dumping Interface" (version 1.0) fixes it: names, types and layouts, in our words. Compatibility number 2.
//
// The debugger loads the library that MPIR_dll_name in the program names and calls the mqs_ functions; the library
// reads the stopped program through tables of functions that the debugger gives it.
#pragma once

#include <cstddef>

extern "C" {

struct mqs_image;                   // the debugger's: an executable
struct mqs_process;                 // the debugger's: a process of it
struct mqs_type;                    // the debugger's: a type of it
struct mqs_image_info;              // ours, kept by the debugger
struct mqs_process_info;            // likewise
using mqs_taddr_t = unsigned long;  // an address in the program
using mqs_tword_t = long;

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };
enum mqs_op_class { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages };
enum mqs_status { mqs_st_pending, mqs_st_matched, mqs_st_complete };
enum mqs_lang_code { mqs_lang_c = 'c', mqs_lang_cplus = 'C', mqs_lang_f77 = 'f', mqs_lang_f90 = 'F' };

struct mqs_target_type_sizes {
  int short_size, int_size, long_size, long_long_size, pointer_size, bool_size, size_t_size;
};

struct mqs_communicator {
  mqs_taddr_t unique_id;
  mqs_tword_t local_rank, size;
  char name[64];
};

struct mqs_pending_operation {
  int status;                       // mqs_status
  mqs_tword_t desired_local_rank;   // in the communicator; -1: any
  mqs_tword_t desired_global_rank;  // in MPI_COMM_WORLD; -1: any
  int tag_wild;
  mqs_tword_t desired_tag;
  mqs_tword_t desired_length;  // bytes
  int system_buffer;           // whether `buffer` is the library's own
  mqs_taddr_t buffer;
  mqs_tword_t actual_local_rank, actual_global_rank, actual_tag, actual_length;  // of sends, and of what is matched
  char extra_text[5][64];                                                        // shown as it is
};

struct mqs_basic_callbacks {
  void* (*mqs_malloc_fp)(std::size_t);
  void (*mqs_free_fp)(void*);
  void (*mqs_dprints_fp)(const char*);
  char* (*mqs_errorstring_fp)(int);
  void (*mqs_put_image_info_fp)(mqs_image*, mqs_image_info*);
  mqs_image_info* (*mqs_get_image_info_fp)(mqs_image*);
  void (*mqs_put_process_info_fp)(mqs_process*, mqs_process_info*);
  mqs_process_info* (*mqs_get_process_info_fp)(mqs_process*);
};

struct mqs_image_callbacks {
  void (*mqs_get_type_sizes_fp)(mqs_process*, mqs_target_type_sizes*);
  int (*mqs_find_function_fp)(mqs_image*, char*, mqs_lang_code, mqs_taddr_t*);
  int (*mqs_find_symbol_fp)(mqs_image*, char*, mqs_taddr_t*);
  mqs_type* (*mqs_find_type_fp)(mqs_image*, char*, mqs_lang_code);
  int (*mqs_field_offset_fp)(mqs_type*, char*);
  int (*mqs_sizeof_fp)(mqs_type*);
};

struct mqs_process_callbacks {
  int (*mqs_get_global_rank_fp)(mqs_process*);
  mqs_image* (*mqs_get_image_fp)(mqs_process*);
  int (*mqs_fetch_data_fp)(mqs_process*, mqs_taddr_t, int, void*);
  void (*mqs_target_to_host_fp)(mqs_process*, const void*, void*, int);
};

#define MQS_CALL [[gnu::visibility("default")]]
MQS_CALL void mqs_setup_basic_callbacks(const mqs_basic_callbacks*);
MQS_CALL char* mqs_version_string();
MQS_CALL int mqs_version_compatibility();
MQS_CALL int mqs_dll_taddr_width();
MQS_CALL char* mqs_dll_error_string(int);
MQS_CALL int mqs_setup_image(mqs_image*, const mqs_image_callbacks*);
MQS_CALL int mqs_image_has_queues(mqs_image*, char** message);
MQS_CALL void mqs_destroy_image_info(mqs_image_info*);
MQS_CALL int mqs_setup_process(mqs_process*, const mqs_process_callbacks*);
MQS_CALL int mqs_process_has_queues(mqs_process*, char** message);
MQS_CALL void mqs_destroy_process_info(mqs_process_info*);
MQS_CALL int mqs_update_communicator_list(mqs_process*);
MQS_CALL int mqs_setup_communicator_iterator(mqs_process*);
MQS_CALL int mqs_get_communicator(mqs_process*, mqs_communicator*);
MQS_CALL int mqs_get_comm_group(mqs_process*, int* world_ranks);
MQS_CALL int mqs_next_communicator(mqs_process*);
MQS_CALL int mqs_setup_operation_iterator(mqs_process*, int op_class);
MQS_CALL int mqs_next_operation(mqs_process*, mqs_pending_operation*);

}  // extern "C"
