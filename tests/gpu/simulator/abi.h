// Whether two functions of C are called in the same way: as many arguments, each as wide and of the same kind.
#pragma once
#include <type_traits>

// `loosely` takes an address for a pointer.
template <bool loosely, class A, class B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && (loosely || std::is_pointer_v<A> == std::is_pointer_v<B>) &&
                              std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class... A>
struct Arguments {};

template <bool loosely, class... A, class... B>
constexpr bool all_passed_alike(Arguments<A...>, Arguments<B...>) {
    if constexpr (sizeof...(A) == sizeof...(B))
        return (passed_alike<loosely, A, B> && ...);
    else
        return false;
}

template <bool loosely = false, class R, class... A, class S, class... B>
constexpr bool called_alike(R (*)(A...), S (*)(B...)) {
    return passed_alike<false, R, S> && all_passed_alike<loosely>(Arguments<A...>(), Arguments<B...>());
}
