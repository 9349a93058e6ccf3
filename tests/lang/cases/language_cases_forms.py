"""Small functions of everyday Python, run both by CPython and as compiled IR (see test_language_cases.py).

Unpacking, comprehensions, lambdas, vectors, scopes, small algorithms.

Parameters: int, float, bool, wp.vec3. CPython gets NumPy float32 numbers, so that both compute in the same precision.
"""

# ruff: noqa
import omni.warp_core as wp

COUNT = 3
PRIMES = (2, 3, 5, 7)

# -- tuples, unpacking, swaps


def swap_three(a: int, b: int, c: int):
    a, b, c = c, a, b
    b, a = a, b
    return a, b, c


def sort_two(a: int, b: int):
    return (a, b) if a <= b else (b, a)


def sort_four(a: int, b: int, c: int, d: int):
    if a > b:
        a, b = b, a
    if c > d:
        c, d = d, c
    if a > c:
        a, c = c, a
    if b > d:
        b, d = d, b
    if b > c:
        b, c = c, b
    return a, b, c, d


def star_middle(a: int, b: int):
    first, *middle, last = a, b, 3, 4, a
    return first, sum(middle), last, len(middle)


def star_front(a: int, b: int):
    *head, tail = (a, b, 7)
    return sum(head), tail


def star_empty(a: int, b: int):
    x, *rest, y = a, b
    return x, len(rest), y


def star_in_tuple(a: int, b: int):
    t = (a, b)
    u = (0, *t, *t, 1)
    return len(u), sum(u), u[3]


def star_in_call(a: int, b: int):
    t = (a, b, 2)
    return max(*t), min(*t, -1)


def nested_unpacking(a: int, b: int, c: int):
    (x, (y, z)), w = (a, (b, c)), 9
    return x - y, z * w


def unpack_in_loop(a: int):
    s = 0
    for (x, y), z in (((a, 1), 2), ((3, a), 4)):
        s += x * y + z
    return s


def chained_targets(a: int):
    x = y = z = a * 2
    y += 1
    z -= x
    return x, y, z


def chained_unpack(a: int, b: int):
    t = x, y = a, b
    return t[0] + y, t[1] - x


def tuple_of_results(a: int, b: int):
    q = a + b, a - b
    return q[0] * q[1], q[::-1][0]


def tuple_slices(a: int, b: int):
    t = (a, b, 3, 4, 5)
    return sum(t[1:3]), sum(t[:-1]), sum(t[::2]), t[-2], t[::-1][0], len(t[5:])


def tuple_repeat(a: int):
    t = (a, 1) * 2
    return len(t), sum(t), t[2]


def tuple_through_loop(n: int):
    t = (0, 1)
    for i in range(n):
        t = (t[1], (t[0] + t[1]) & 255)
    return t[0], t[1]


def tuple_in_tuple(a: int, b: int):
    t = ((a, b), (b, a))
    return t[0][0] - t[1][0], t[1][1]


def empty_tuple(a: int):
    t = ()
    return len(t), a if t else -a


def overlapping_assignment(a: int, b: int):
    a, b = a + b, a
    a, b = a + b, a
    return a, b


def evaluation_order(a: int):
    b = (a := a + 1) * 10 + (a := a * 2)
    return a, b


# -- comprehensions and lambdas


def comprehension_of_conditions(a: int):
    return sum([int(a > i) for i in range(-3, 4)]), any([a == i for i in (1, 2, 3)])


def comprehension_over_zip(a: int, b: int):
    return sum(x * y for x, y in zip((a, b), (2, 3)))


def comprehension_over_enumerate(a: int, b: int):
    return sum(i * x for i, x in enumerate((a, b, a)))


def comprehension_of_tuples(a: int):
    pairs = [(i, i * a) for i in range(3)]
    return pairs[2][1], sum(x + y for x, y in pairs)


def comprehension_in_comprehension(a: int):
    return sum(sum(i * j * a for j in range(3)) for i in range(3))


def comprehension_index(a: int):
    squares = [i * i for i in range(5)]
    return squares[3], squares[-1] + a


def comprehension_with_filter(a: int):
    return sum(p for p in PRIMES if p != 3) + a, len([p for p in PRIMES if p > 2])


def all_in_order(a: int, b: int, c: int):
    t = (a, b, c)
    return all(t[i] <= t[i + 1] for i in range(2))


def any_with_conditions(a: int, b: int):
    return any(x > 5 for x in (a, b)), all(x > -5 for x in (a, b)), any(()), all(())


def lambda_as_operator(a: int, b: int):
    ops = (lambda x, y: x + y, lambda x, y: x * y)
    return ops[0](a, b), ops[1](a, b)


def lambda_of_lambda(a: int):
    twice = lambda f, x: f(f(x))
    return twice(lambda x: x * 2 + 1, a)


def lambda_with_conditional(a: int):
    clip = lambda x: 5 if x > 5 else (-5 if x < -5 else x)
    return clip(a), clip(-a)


def lambda_keyword(a: int, b: int):
    f = lambda x, y: x - 2 * y
    return f(y=a, x=b), f(a, y=b)


def lambda_without_arguments(a: int):
    f = lambda: a * 3
    return f() + f()


def lambda_called_at_once(a: int):
    return (lambda x: x + 1)(a)


def map_over_tuple(a: int, b: int):
    x, y = map(lambda v: v * v, (a, b))
    return x - y


def min_with_key_by_hand(a: int, b: int, c: int):
    best, score = a, abs(a - 3)
    for v in (b, c):
        if abs(v - 3) < score:
            best, score = v, abs(v - 3)
    return best


# -- vectors


def vec_loop_index(v: wp.vec3):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * float(i + 1)
    return s


def vec_largest(v: wp.vec3):
    at = 0
    for i in range(1, 3):
        if v[i] > v[at]:
            at = i
    return at


def vec_swap_components(v: wp.vec3):
    v = v * 1.0
    v[0], v[1] = v[1], v[0]
    return v[0], v[1]


def vec_slices(v: wp.vec3):
    return sum(v[:2]), sum(v[1:]), v[-2]


def vec_star(v: wp.vec3):
    x, *rest = v
    return x, sum(rest)


def vec_reversed(v: wp.vec3):
    s = 0.0
    for x in reversed(v):
        s = s * 0.5 + x
    return s


def vec_in_condition(v: wp.vec3):
    if v[0] > v[1] and v[1] > v[2]:
        return 1
    return 0


def vec_accumulate(v: wp.vec3, n: int):
    w = v * 0.0
    for i in range(n):
        w += v
    return w[0], w[1], w[2]


def vec_augmented(v: wp.vec3, x: float):
    w = v * 2.0
    w -= v
    w *= x
    w /= 2.0
    w[1] -= x
    return w[0], w[1], w[2]


def vec_copy_is_independent(v: wp.vec3, x: float):
    w = v + v
    u = w * 1.0
    u[0] = x
    return w[0], u[0]


# -- definite assignment, scopes, statements without effect


def assigned_on_all_paths(a: int):
    if a > 0:
        b = 1
    elif a == 0:
        return 0
    else:
        b = 2
    return b


def assigned_in_while_true(n: int):
    while True:
        b = n
        n -= 1
        if n < 0:
            break
    return b


def assigned_in_match(a: int):
    match a:
        case 1:
            b = 10
        case _:
            b = 20
    return b


def deleted_and_assigned(a: int):
    b = a
    del b
    b = a + 1
    return b


def expression_statements(a: int):
    a
    a + 1
    "text"
    ...
    return a


def docstring_and_comment(a: int):
    """A docstring,

    of several lines.
    """
    # a comment
    return a  # another


def semicolons(a: int):
    b = a + 1
    c = b * 2
    return b, c


def line_continuations(a: int, b: int):
    c = a + b
    return (c - a), b


def names_like_builtins(a: int):
    sum = a + 1
    max = sum * 2
    list = max - a
    return list


def unicode_names(a: int):
    größe = a + 1
    π = größe * 3
    return π


def annotated_without_value(a: int):
    b: int
    b = a
    return b


def constant_condition_loop(a: int):
    while False:
        a = 0
    for _ in ():
        a = 1
    return a


def strings_select(a: int):
    mode = "double" if True else "half"
    if mode == "double" and mode != "half":
        return a * 2
    return a


def fstring_constant(a: int):
    name = f"mode{COUNT}"
    if name == "mode3":
        return a
    return -a


def return_of_ternaries(a: int, b: int):
    return (1 if a > b else 0), (a if a else b), -1 if b < 0 else 1


def primes_below(n: int):
    c = 0
    for i in range(2, n):
        prime = True
        for j in range(2, i):
            if j * j > i:
                break
            if i % j == 0:
                prime = False
                break
        if prime:
            c += 1
    return c


def gcd_by_subtraction(a: int, b: int):
    a, b = abs(a) + 1, abs(b) + 1
    while a != b:
        if a > b:
            a -= b
        else:
            b -= a
    return a


def longest_run(a: int):
    best = run = 0
    for i in range(10):
        if (a >> i) & 1:
            run += 1
            best = max(best, run)
        else:
            run = 0
    return best


def ackermann_like(n: int):
    depth, value = abs(n) & 3, 1
    while depth > 0:
        for _ in range(depth):
            value = value * 2 + depth
        depth -= 1
    return value


def state_machine(a: int):
    state, n = 0, 0
    while state != 3 and n < 20:
        if state == 0:
            state = 1 if a > 0 else 2
        elif state == 1:
            a -= 2
            state = 0 if a > 3 else 2
        else:
            a += 1
            state = 3 if a > 2 else 0
        n += 1
    return state, a, n


def trapezoid(x: float, n: int):
    s, h = 0.0, 0.25
    for i in range(n):
        y = x + float(i) * h
        s += (y * y + (y + h) * (y + h)) * 0.5 * h
    return s


def moving_average(a: int, b: int, c: int, d: int):
    t = (a, b, c, d)
    best = t[0] + t[1]
    for i in range(1, 3):
        s = t[i] + t[i + 1]
        if s > best:
            best = s
    return best
