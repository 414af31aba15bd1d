// Threads of a block as fibres on one thread of the CPU: a barrier, and an instruction that a
// whole warp runs, switch to the next fibre, and blocks run one after the other. For the
// address and undefined behaviour sanitizers. threads.h has the same functions.
#pragma once
#include <sanitizer/asan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "lanes.h"

// A fibre would map and unmap memory for the first option.
extern "C" const char *__asan_default_options() { return "detect_stack_use_after_return=0:detect_leaks=0"; }

Place here;

enum Wait { READY, BARRIER, WARP, DONE };

// switch_stack keeps the registers that calls preserve on this stack, whose end it saves, and
// goes on with another stack. swapcontext would make two system calls.
extern "C" void switch_stack(void **save, void *to);
asm(R"(
.text
switch_stack:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
)");

struct Fibre {
	void *at; // where it goes on
	std::unique_ptr<char[]> stack;
	Wait wait;
	const char *operation; // of the warp
};

static const size_t stack_bytes = 128 << 10;
static Fibre fibres[threads];
static Lane own_lanes[threads];
static void *scheduler;
static const void *scheduler_stack;
static size_t scheduler_bytes;
static void *scheduler_fake;
static const std::function<void()> *kernel;
static int running;

void fail(const char *what) {
	printf("FAIL %s\n", what);
	exit(1);
}

Lane *lanes() { return own_lanes; }

static void leave(Wait wait) {
	void *fake = nullptr;
	Fibre &f = fibres[running];
	f.wait = wait;
	__sanitizer_start_switch_fiber(wait == DONE ? nullptr : &fake, scheduler_stack, scheduler_bytes);
	switch_stack(&f.at, scheduler);
	__sanitizer_finish_switch_fiber(fake, &scheduler_stack, &scheduler_bytes);
	here.thread = running;
}

static void body() {
	__sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_bytes);
	(*kernel)();
	leave(DONE);
}

void barrier() { leave(BARRIER); }

void warp_wait(const char *operation) {
	fibres[running].operation = operation;
	leave(WARP);
}

// release lets a warp go on whose lanes have all come to the same instruction.
static void release(Fibre *warp) {
	int waiting = 0;
	for (int l = 0; l < 32; l++) waiting += warp[l].wait == WARP;
	if (waiting == 0) return;
	if (waiting < 32) fail("some lanes of a warp run an instruction of all");
	for (int l = 0; l < 32; l++) {
		if (warp[l].operation != warp[0].operation) fail("lanes of a warp run different instructions of all");
		warp[l].wait = READY;
	}
}

// block runs the threads of a block; all come to a barrier or to the end together.
static void block(bool backwards) {
	for (Fibre &f : fibres) {
		if (!f.stack) f.stack.reset(new char[stack_bytes]);
		// The last frames of an ended fibre never return, so their red zones are still poisoned.
		__asan_unpoison_memory_region(f.stack.get(), stack_bytes);
		f.wait = READY;
		void **top = reinterpret_cast<void **>(f.stack.get() + stack_bytes);
		*(top -= 2) = reinterpret_cast<void *>(body); // body is entered as if it were called: 8 bytes off a multiple of 16
		f.at = top - 6;
	}
	for (int done = 0; done == 0;) {
		for (int w = 0; w < threads / 32; w++) {
			int warp = 32 * (backwards ? threads / 32 - 1 - w : w);
			for (bool ready = true; ready;) {
				for (int l = 0; l < 32; l++) {
					running = here.thread = warp + (backwards ? 31 - l : l);
					if (fibres[running].wait != READY) continue;
					__sanitizer_start_switch_fiber(&scheduler_fake, fibres[running].stack.get(), stack_bytes);
					switch_stack(&scheduler, fibres[running].at);
					__sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
				}
				release(fibres + warp);
				ready = fibres[warp].wait == READY;
			}
		}
		for (Fibre &f : fibres) {
			done += f.wait == DONE;
			if (f.wait == BARRIER) f.wait = READY;
		}
		if (done != 0 && done != threads) fail("some threads of a block wait at a barrier and others ended");
	}
}

// launch runs a kernel on a grid of x times y blocks, with the threads in either order.
void launch(u32 x, u32 y, bool backwards, const std::function<void()> &k) {
	kernel = &k;
	for (u32 j = 0; j < y; j++)
		for (u32 i = 0; i < x; i++) {
			here = Place{0, i, j, y};
			block(backwards);
		}
}
