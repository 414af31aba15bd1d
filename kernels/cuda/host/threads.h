// Threads of a block as threads of the CPU, for the thread sanitizer: what two of them touch
// without a barrier between, one of them writing, is a data race. Two teams of threads take
// the blocks in turn, each with shared memory of its own, and do not wait for each other:
// what blocks touch other than by atomic additions is a data race, too. fibre.h has the same functions.
#pragma once
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lanes.h"

thread_local Place here;

void fail(const char *what) {
	printf("FAIL %s\n", what);
	fflush(stdout);
	_Exit(1);
}

// Meeting is a barrier of a number of threads, which all must have come for the same.
class Meeting {
	std::mutex mutex;
	std::condition_variable all;
	const char *what = nullptr;
	int waiting = 0;
	u64 turn = 0;

public:
	void wait(int number, const char *for_what) {
		std::unique_lock<std::mutex> lock(mutex);
		if (waiting > 0 && what != for_what) fail("threads wait for different things");
		what = for_what;
		if (++waiting == number) {
			waiting = 0, turn++;
			all.notify_all();
			return;
		}
		all.wait(lock, [this, t = turn] { return turn != t; });
	}
};

struct Team {
	Meeting block, warps[threads / 32];
	Lane lanes[threads];
};

static thread_local Team *team;

Lane *lanes() { return team->lanes; }

static const char *const at_barrier = "barrier", *const at_end = "end";

void barrier() { team->block.wait(threads, at_barrier); }
void warp_wait(const char *operation) { team->warps[here.thread / 32].wait(32, operation); }

// launch runs a kernel, of which each team has a copy, on a grid of x times y blocks.
void launch(u32 x, u32 y, const std::function<void()> copies[2]) {
	std::vector<Team> teams(2);
	std::vector<std::thread> all;
	for (u32 c = 0; c < 2; c++)
		for (u32 t = 0; t < threads; t++)
			all.emplace_back([=, own = &teams[c]] {
				team = own;
				for (u64 b = c; b < (u64)x * y; b += 2) {
					here = Place{t, (u32)(b % x), (u32)(b / x), y};
					copies[c]();
					own->block.wait(threads, at_end);
				}
			});
	for (std::thread &t : all) t.join();
}
