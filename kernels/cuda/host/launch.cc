// Runs one launch of a kernel: reads its name, grid, arguments and buffers from the standard
// input, and writes the buffers to the standard output. All are words of 64 bits but for text
// and contents; a buffer is allocated to the byte, so that sanitizers see what is outside of
// it. Package engine/cuda/ptxtest (host.go) is the other side.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef REAL_THREADS
#include "threads.h"
#else
#include "fibre.h"
#endif

#include "launch.h"

Known *Known::all;

namespace {

struct Buffer {
	u64 address, size;
	char *at;
};

std::vector<Buffer> buffers;

void read(void *to, u64 bytes) {
	if (bytes > 0 && fread(to, bytes, 1, stdin) != 1) fail("the input ends early");
}

u64 word() {
	u64 v;
	read(&v, sizeof v);
	return v;
}

std::function<void()> find(const std::string &name, u32 copy, const std::vector<u64> &arguments) {
	for (Known *k = Known::all; k; k = k->next)
		if (k->name == name && k->copy == copy) {
			if (k->arguments != arguments.size()) fail("another number of arguments");
			return k->bind(arguments.data());
		}
	fail("an unknown kernel");
}

} // namespace

// memory is where the buffer of an address is. An address outside of every buffer is nothing.
void *memory(u64 address) {
	for (const Buffer &b : buffers)
		if (b.address >> 32 == address >> 32) return b.at + (u32)address;
	return nullptr;
}

int main() {
	std::string name(word(), 0);
	read(&name[0], name.size());
	u32 x = word(), y = word(), backwards = word();
	std::vector<u64> arguments(word());
	for (u64 &a : arguments) a = word();
	buffers.resize(word());
	for (Buffer &b : buffers) {
		b.address = word(), b.size = word();
		b.at = static_cast<char *>(malloc(b.size));
		read(b.at, b.size);
	}
#ifdef REAL_THREADS
	(void)backwards;
	std::function<void()> copies[2] = {find(name, 0, arguments), find(name, 1, arguments)};
	launch(x, y, copies);
#else
	launch(x, y, backwards, find(name, 0, arguments));
#endif
	fputs("DONE", stdout);
	for (const Buffer &b : buffers) {
		fwrite(b.at, 1, b.size, stdout);
		free(b.at);
	}
	return fflush(stdout) != 0;
}
