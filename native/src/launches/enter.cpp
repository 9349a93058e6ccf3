// The way into kernel code and out of it, in assembly. For all that C++ promises, a function that is left from a
// handler of signals would have its caller's registers lost. Offsets are those of Visitor, in faults.h.
#include "warp_core/faults.h"

// int wc_enter(args, dims, begin, end, context, visitor) calls visitor->kernel with the first five, and gives 0. It
// saves all that its caller relies on, so that wc_leave, with the stack alone given back, can return 1 from it.
#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .globl wc_enter
    .hidden wc_enter
    .type wc_enter, @function
wc_enter:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    pushq %r9
    pushq (%r9)
    subq $8, %rsp
    movq %rsp, (%r9)
    callq *8(%r9)
    xorl %eax, %eax
.Lwc_out:
    movq 8(%rsp), %rdx
    movq 16(%rsp), %rcx
    movq %rdx, (%rcx)
    addq $24, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa rsp, 8
    retq
    .cfi_endproc
    .size wc_enter, . - wc_enter
    .globl wc_leave
    .hidden wc_leave
    .type wc_leave, @function
wc_leave:
    leaq 64(%rsp), %rbp
    movl $1, %eax
    jmp .Lwc_out
    .size wc_leave, . - wc_leave
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
    .globl wc_enter
    .hidden wc_enter
    .type wc_enter, %function
wc_enter:
    .cfi_startproc
    stp x29, x30, [sp, -192]!
    .cfi_def_cfa_offset 192
    .cfi_offset 29, -192
    .cfi_offset 30, -184
    mov x29, sp
    stp x19, x20, [sp, 16]
    stp x21, x22, [sp, 32]
    stp x23, x24, [sp, 48]
    stp x25, x26, [sp, 64]
    stp x27, x28, [sp, 80]
    stp d8, d9, [sp, 96]
    stp d10, d11, [sp, 112]
    stp d12, d13, [sp, 128]
    stp d14, d15, [sp, 144]
    ldr x9, [x5]
    stp x5, x9, [sp, 160]
    mov x9, sp
    str x9, [x5]
    ldr x9, [x5, 8]
    blr x9
    mov w0, 0
.Lwc_out:
    ldp x10, x11, [sp, 160]
    str x11, [x10]
    ldp x19, x20, [sp, 16]
    ldp x21, x22, [sp, 32]
    ldp x23, x24, [sp, 48]
    ldp x25, x26, [sp, 64]
    ldp x27, x28, [sp, 80]
    ldp d8, d9, [sp, 96]
    ldp d10, d11, [sp, 112]
    ldp d12, d13, [sp, 128]
    ldp d14, d15, [sp, 144]
    ldp x29, x30, [sp], 192
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size wc_enter, . - wc_enter
    .globl wc_leave
    .hidden wc_leave
    .type wc_leave, %function
wc_leave:
    mov x29, sp
    mov w0, 1
    b .Lwc_out
    .size wc_leave, . - wc_leave
)");
#else
#error "no way into kernels for this processor"
#endif
