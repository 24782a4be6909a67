// SPDX-License-Identifier: BSD-3-Clause
// A library with static memory, of which libraries.c loads copies.
__attribute__((visibility("default"))) long library_words[1000] = {7};
