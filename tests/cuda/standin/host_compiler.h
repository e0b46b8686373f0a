/* SPDX-License-Identifier: Apache-2.0 */
/* The host's C++ compiler, and the folder in which its results are kept. */
#ifndef TESTS_CUDA_STANDIN_HOST_COMPILER_H_
#define TESTS_CUDA_STANDIN_HOST_COMPILER_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct host_source {
  const char *main_text;   /* what is compiled; includes the others */
  const char *name, *text; /* the kernel's source */
  int header_count;
  char *const *header_names;
  char *const *headers;
} host_source;

/* The path of a shared library, to be freed; false: the compiler's errors are
 * in *log, to be freed, or NULL without memory. */
bool host_compile(const host_source *source, char **path, char **log);
/* Writes a text to a file of a folder, under the hash of the text. */
bool host_keep_text(const char *folder, const char *text);
/* With a NUL behind it; NULL: it cannot be read. */
char *host_read_file(const char *path, size_t *size);

#endif /* TESTS_CUDA_STANDIN_HOST_COMPILER_H_ */
