// SPDX-License-Identifier: BSD-3-Clause
// Types as objects of the program: commit, duplicate, free, name.
#include "engine/object/attributes.hpp"
#include "mpi/define.hpp"
#include "mpi/type/make.hpp"

namespace rmq::mpi {

RMQ_MPI(int, Type_commit, (MPI_Datatype * datatype)) {
  return enter([&] { type_arg(*out(datatype, "datatype")).committed = true; });  // layouts are normalised when made
}

RMQ_MPI(int, Type_free, (MPI_Datatype * datatype)) {
  return enter([&] {
    Datatype& type = type_arg(*out(datatype, "datatype"));
    if (type.predefined) fail_call(MPI_ERR_TYPE, "argument datatype is predefined: it cannot be freed");
    if (type.refs == 1) {  // else it lives on in other types, and its attributes with it
      const int refused = delete_all_attributes(type.attributes, type.handle);
      if (refused != MPI_SUCCESS) return refused;
    }
    type_release(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Type_dup, (MPI_Datatype oldtype, MPI_Datatype* newtype)) {
  return enter([&] {
    Datatype& of = type_arg(oldtype, "oldtype");
    *out(newtype, "newtype") = MPI_DATATYPE_NULL;
    Datatype& type = make_type(of.layout, Arguments<int>(MPI_COMBINER_DUP).type(of).take());
    type.committed = of.committed;
    const int refused = copy_attributes(type.attributes, of.attributes, oldtype);
    if (refused == MPI_SUCCESS) {
      *newtype = type.handle;
    } else {
      type_release(type);
    }
    return refused;
  });
}

RMQ_MPI(int, Type_set_name, (MPI_Datatype datatype, const char* type_name)) {
  return enter([&] {
    Datatype& type = type_arg(datatype);
    const std::string_view name = out(type_name, "type_name");
    type.name = name.substr(0, MPI_MAX_OBJECT_NAME - 1);
  });
}

RMQ_MPI(int, Type_get_name, (MPI_Datatype datatype, char* name, int* resultlen)) {
  return enter([&] {
    const std::string_view text = datatype == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : type_name(type_arg(datatype));
    out_text(out(name, "type_name"), MPI_MAX_OBJECT_NAME, out(resultlen, "resultlen"), text);
  });
}

}  // namespace rmq::mpi
