// What fibres and threads have in common: the state of a lane for what all lanes of a warp do together.
#pragma once
#include <cstring>

#include "device.h"

static const int threads = 256; // of a block

struct Lane {
	alignas(16) unsigned char shown[2][32]; // to the other lanes of the warp
	u32 meetings;
};

Lane *lanes(); // of the block
void fail [[noreturn]] (const char *what);

// warp_wait waits until all lanes of the warp have come to that instruction.
void warp_wait(const char *operation);

// Warp is what the lanes of a warp have shown each other. It stands until the instruction after
// the next: a lane comes there only when all have come to the next.
template <typename T> struct Warp {
	const Lane *first;
	u32 turn;
	T operator[](u32 lane) const {
		T v;
		memcpy(&v, first[lane].shown[turn], sizeof v);
		return v;
	}
};

// meet shows v to the other lanes of the warp, which all run the instruction.
template <typename T> Warp<T> meet(const char *operation, const T &v) {
	static_assert(sizeof v <= 32, "more than a lane shows");
	Lane &own = lanes()[here.thread];
	u32 turn = own.meetings++ & 1;
	memcpy(own.shown[turn], &v, sizeof v);
	warp_wait(operation);
	return {lanes() + (here.thread & ~31u), turn};
}
