// overlaps.h -- observer of `extern __shared__` arrays that a kernel takes for separate memory
//
// All of them start at the same address. A kernel that stores into one, then into another one at
// the same bytes, and then reads by the first name, has lost what it had stored there. A kernel
// that reads by one name what it has stored by another one knows that they are one memory, and is
// not blamed.
#pragma once
#include <cstdint>
#include <vector>

struct Worker;
struct Warp;
struct Instruction;

class Overlaps {
public:
    void begin_launch(const Worker& w);
    void begin_block();
    // Whether the program names dynamic shared memory in more than one way.
    bool is_active() const { return names_ != nullptr; }
    // Looks at an instruction before it runs.
    void watch(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes);

private:
    // What a byte of dynamic shared memory knows. `name` stored there last; `lost` are the names,
    // as bits, whose values a store by another name has replaced since.
    struct Byte {
        std::uint32_t name = 0, lost = 0, pc = 0, thread = 0;
    };
    bool is_lost(Byte& byte, std::uint32_t name);

    const std::uint8_t* names_ = nullptr;
    std::vector<Byte> bytes_;
    bool is_meant_ = false;    // the kernel reads by one name what it has stored by another one
};
