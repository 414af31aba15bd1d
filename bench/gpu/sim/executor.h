// What a program that runs PTX offers to libcuda.cc: a shared library with these functions, which
// are called by one thread at a time. Addresses are those that kernels see.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
const char *executor_name(void); // and its version; the first call
unsigned long long executor_alloc(size_t bytes);
void executor_write(unsigned long long to, const void *from, size_t bytes);
void executor_read(void *to, unsigned long long from, size_t bytes);
void executor_fill(unsigned long long at, int byte, size_t bytes);
// executor_load returns a module, or 0 if it refuses the text, with the reason in log.
void *executor_load(const char *ptx, char *log, size_t room);
void *executor_function(void *module, const char *name); // 0 if there is none
void executor_launch(void *function, const unsigned grid[3], const unsigned block[3], void **parameters);
#ifdef __cplusplus
}
#endif
