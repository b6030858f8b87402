// fiber.h -- the stack switch that turns one operating-system thread into the CUDA threads of a block
//
// A fiber is a stack and a saved stack pointer. The switch stores what the platform's calling convention says a callee must
// preserve and nothing else, so it costs a few nanoseconds (swapcontext makes a system call each time).
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" void halo_switch(void** save_stack_pointer, void* load_stack_pointer);

#if defined(__x86_64__)
asm(R"(
    .text
    .globl halo_switch
    .type halo_switch, @function
halo_switch:
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
    .size halo_switch, .-halo_switch
)");
constexpr std::size_t saved_words = 6;
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl halo_switch
    .type halo_switch, %function
halo_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x2, sp
    str x2, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size halo_switch, .-halo_switch
)");
#else
#error "The simulator switches stacks on x86-64 and 64-bit Arm only."
#endif

// One slab of equal stacks, so that "is this address on a fiber's stack" is one comparison. Pages are touched only as they are used.
class FiberPool {
public:
    static constexpr std::size_t stack_bytes = 256 * 1024;
    static constexpr std::size_t capacity = 1024;
    static constexpr std::size_t stagger = 17 * 64;    // or all stacks would begin in the same cache set

    bool open() {
        if (slab_ != nullptr) return true;
        void* slab = mmap(nullptr, stack_bytes * capacity, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED) return false;
        slab_ = static_cast<char*>(slab);
        for (std::size_t i = 0; i < capacity; ++i)  // a guard page stops a stack from running into its neighbour
            mprotect(slab_ + i * stack_bytes, 4096, PROT_NONE);
        return true;
    }
    void reset(void (*entry)()) {
        entry_ = entry;
        used_ = 0;
        free_.clear();
    }
    // A stack pointer that halo_switch can load: a finished thread's fiber when there is one, else a new fiber at `entry`.
    void* take() {
        if (!free_.empty()) {
            void* stack_pointer = free_.back();
            free_.pop_back();
            return stack_pointer;
        }
        ++used_;
        char* top = slab_ + used_ * stack_bytes - used_ * stagger % (16 * 1024);
#if defined(__x86_64__)
        auto* words = reinterpret_cast<void**>(top) - (saved_words + 2);  // keeps the stack 16-byte aligned at entry
        for (std::size_t i = 0; i < saved_words + 2; ++i) words[i] = nullptr;
        words[saved_words] = reinterpret_cast<void*>(entry_);
#else
        auto* words = reinterpret_cast<void**>(top) - 20;
        for (int i = 0; i < 20; ++i) words[i] = nullptr;
        words[11] = reinterpret_cast<void*>(entry_);  // x30, the return address
#endif
        return words;
    }
    void give_back(void* stack_pointer) { free_.push_back(stack_pointer); }
    bool contains(std::uintptr_t address) const {
        return address - reinterpret_cast<std::uintptr_t>(slab_) < stack_bytes * capacity;
    }

private:
    char* slab_ = nullptr;
    std::size_t used_ = 0;
    std::vector<void*> free_;
    void (*entry_)() = nullptr;
};
