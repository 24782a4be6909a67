// A library with static memory, of which libraries.c loads copies.
__attribute__((visibility("default"))) long library_words[1000] = {7};
