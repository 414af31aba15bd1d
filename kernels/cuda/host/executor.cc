// The kernels, compiled for this processor, in the place of a program that runs PTX (bench/gpu/sim/executor.h): what the
// host makes of their results can be tested where there is neither a GPU nor a simulator. It reads names and parameters of
// the PTX it is given, and not its instructions.
#include <cstdlib>
#include <string>
#include <vector>

#include "executor.h"
#include "fibre.h"
#include "launch.h"

// The sanitizers are left out.
extern "C" {
void __asan_unpoison_memory_region(void const volatile *, size_t) {}
void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
}

Known *Known::all;

void *memory(u64 address) { return reinterpret_cast<void *>(address); }

extern "C" {
const char *executor_name() { return "the sources of the kernels on this processor"; }
unsigned long long executor_alloc(size_t bytes) { return reinterpret_cast<u64>(malloc(bytes + 64)); }
void executor_write(unsigned long long to, const void *from, size_t bytes) { memcpy(memory(to), from, bytes); }
void executor_read(void *to, unsigned long long from, size_t bytes) { memcpy(to, memory(from), bytes); }
void executor_fill(unsigned long long at, int byte, size_t bytes) { memset(memory(at), byte, bytes); }
void *executor_load(const char *ptx, char *, size_t) { return new std::string(ptx); }
void *executor_function(void *module, const char *name) {
	if (static_cast<std::string *>(module)->find(std::string(".entry ") + name + "(") == std::string::npos) return nullptr;
	for (Known *k = Known::all; k; k = k->next)
		if (!strcmp(k->name, name)) return k;
	return nullptr;
}
void executor_launch(void *function, const unsigned grid[3], const unsigned[3], void **parameters) {
	auto k = static_cast<Known *>(function);
	std::vector<u64> words(k->arguments);
	for (size_t i = 0; i < words.size(); i++) memcpy(&words[i], parameters[i], sizeof(u64)); // libcuda.cc keeps words
	launch(grid[0], grid[1], false, k->bind(words.data()));
}
}
