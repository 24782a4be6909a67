// Chapter 15.3.8: events. There are none, and no sources of them: RMQ's own trace records what they could tell. So no
// index, registration or instance is valid.
#include "mpi/internal/tool.hpp"

namespace rmq::mpi::tool {
namespace {

int none(int* number) {
  return enter([&] {
    *needed(number) = 0;
    return MPI_SUCCESS;
  });
}

int refused(int code) {
  return enter([&] { return code; });
}

}  // namespace

RMQ_MPI(int, T_event_get_num, (int* num_events)) {
  return none(num_events);
}
RMQ_MPI(int, T_event_get_info,
        (int, char*, int*, int*, MPI_Datatype*, MPI_Aint*, int*, MPI_T_enum*, MPI_Info*, char*, int*, int*)) {
  return refused(MPI_T_ERR_INVALID_INDEX);
}
RMQ_MPI(int, T_event_get_index, (const char*, int*)) {
  return refused(MPI_T_ERR_INVALID_NAME);
}
RMQ_MPI(int, T_event_handle_alloc, (int, void*, MPI_Info, MPI_T_event_registration*)) {
  return refused(MPI_T_ERR_INVALID_INDEX);
}
RMQ_MPI(int, T_event_handle_free, (MPI_T_event_registration, void*, MPI_T_event_free_cb_function)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_handle_set_info, (MPI_T_event_registration, MPI_Info)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_handle_get_info, (MPI_T_event_registration, MPI_Info*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_register_callback,
        (MPI_T_event_registration, MPI_T_cb_safety, MPI_Info, void*, MPI_T_event_cb_function)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_callback_set_info, (MPI_T_event_registration, MPI_T_cb_safety, MPI_Info)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_callback_get_info, (MPI_T_event_registration, MPI_T_cb_safety, MPI_Info*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_set_dropped_handler, (MPI_T_event_registration, MPI_T_event_dropped_cb_function)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_read, (MPI_T_event_instance, int, void*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_copy, (MPI_T_event_instance, void*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_get_timestamp, (MPI_T_event_instance, MPI_Count*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}
RMQ_MPI(int, T_event_get_source, (MPI_T_event_instance, int*)) {
  return refused(MPI_T_ERR_INVALID_HANDLE);
}

RMQ_MPI(int, T_source_get_num, (int* num_sources)) {
  return none(num_sources);
}
RMQ_MPI(int, T_source_get_info,
        (int, char*, int*, char*, int*, MPI_T_source_order*, MPI_Count*, MPI_Count*, MPI_Info*)) {
  return refused(MPI_T_ERR_INVALID_INDEX);
}
RMQ_MPI(int, T_source_get_timestamp, (int, MPI_Count*)) {
  return refused(MPI_T_ERR_INVALID_INDEX);
}

}  // namespace rmq::mpi::tool
