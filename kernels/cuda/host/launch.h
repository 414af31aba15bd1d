// A kernel by its name, with arguments as the words that a driver passes.
#pragma once
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tensor.h"

void *memory(u64 address);

template <typename T> T argument(u64 word) {
	T v;
	if constexpr (std::is_pointer<T>::value)
		v = static_cast<T>(memory(word));
	else
		memcpy(&v, &word, sizeof v);
	return v;
}

typedef std::function<void()> (*Bind)(const u64 *words);

template <auto kernel> struct Kernel;
template <typename... A, void (*kernel)(A...)> struct Kernel<kernel> {
	static const size_t arguments = sizeof...(A);
	template <size_t... I> static std::function<void()> with(const u64 *words, std::index_sequence<I...>) {
		return [v = std::make_tuple(argument<A>(words[I])...)] { std::apply(kernel, v); };
	}
	static std::function<void()> bind(const u64 *words) { return with(words, std::index_sequence_for<A...>()); }
};

// Known is a kernel, in a copy with shared memory of its own.
struct Known {
	const char *name;
	u32 copy;
	size_t arguments;
	Bind bind;
	Known *next;
	static Known *all;
	Known(const char *name, u32 copy, size_t arguments, Bind bind) : name(name), copy(copy), arguments(arguments), bind(bind), next(all) { all = this; }
};

#define KNOWN(kernel, copy) static Known known_##kernel(#kernel, copy, Kernel<kernel>::arguments, Kernel<kernel>::bind);
