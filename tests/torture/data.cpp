// Static memory of a library. OpenSHMEM programs have several of these: more than PEs of one host reach directly.
extern "C" [[gnu::visibility("default")]] int* RMQ_TORTURE_DATA() {
  alignas(64) static int words[20480];
  return &words[0];
}
