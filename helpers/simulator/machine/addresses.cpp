// addresses.cpp -- generic addresses and those of the state spaces
#include "machine.h"

namespace {

// Reads an operand of 32 or 64 bits, for each lane.
std::uint64_t value_at(const Warp& warp, const Instruction& i, std::int32_t slot, int lane) {
    const bool narrow = (i.flags & ADDRESS_32) || i.type == U32 || i.type == B32 || i.type == S32;
    return narrow ? warp.at<std::uint32_t>(slot)[lane] : warp.at<std::uint64_t>(slot)[lane];
}
void set_value(const Warp& warp, const Instruction& i, std::int32_t slot, int lane,
               std::uint64_t value) {
    const bool narrow = i.type == U32 || i.type == B32 || i.type == S32;
    if (narrow) warp.at<std::uint32_t>(slot)[lane] = static_cast<std::uint32_t>(value);
    else warp.at<std::uint64_t>(slot)[lane] = value;
}

template <class F> bool convert(Warp& warp, const Instruction& i, std::uint32_t lanes, F f) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        set_value(warp, i, i.operand[0], lane, f(value_at(warp, i, i.operand[1], lane), lane));
    }
    return true;
}

bool from_shared(Worker& w, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int) { return a + window_of(w); });
}
bool to_shared(Worker& w, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int) { return a - window_of(w); });
}
bool from_local(Worker&, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int lane) {
        return a + reinterpret_cast<std::uint64_t>(warp.local_of(lane));
    });
}
bool to_local(Worker&, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int lane) {
        return a - reinterpret_cast<std::uint64_t>(warp.local_of(lane));
    });
}
bool from_parameter(Worker& w, Warp& warp, const Instruction& i, std::int32_t,
                    std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int) {
        return a + reinterpret_cast<std::uint64_t>(w.launch.parameters);
    });
}
bool to_parameter(Worker& w, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    return convert(warp, i, lanes, [&](std::uint64_t a, int) {
        return a - reinterpret_cast<std::uint64_t>(w.launch.parameters);
    });
}

enum Where { IN_GLOBAL, IN_SHARED, IN_LOCAL, IN_CONSTANT, IN_PARAMETERS };

Where where(const Worker& w, std::uint64_t address) {
    if (address - window_of(w) < std::uint64_t(w.launch.shared_bytes) + 1) return IN_SHARED;
    if (!w.local.empty() &&
        address - reinterpret_cast<std::uint64_t>(w.local.data()) < w.local.size())
        return IN_LOCAL;
    if (address - reinterpret_cast<std::uint64_t>(w.launch.parameters) < w.launch.parameter_bytes)
        return IN_PARAMETERS;
    const Region* region = memory.find(address);
    return region != nullptr && region->space == CONSTANT ? IN_CONSTANT : IN_GLOBAL;
}
template <Where wanted>
bool is_there(Worker& w, Warp& warp, const Instruction& i, std::int32_t, std::uint32_t lanes) {
    std::uint32_t bits = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        bits |= static_cast<std::uint32_t>(where(w, warp.at<std::uint64_t>(i.operand[1])[lane]) ==
                                           wanted)
                << lane;
    }
    std::uint32_t& result = warp.predicate(i.operand[0]);
    result = (result & ~lanes) | bits;
    return true;
}

const bool registered = [] {
    add_operation("cvta.shared", from_shared, READS);
    add_operation("cvta.to.shared", to_shared, READS);
    add_operation("cvta.local", from_local, READS);
    add_operation("cvta.to.local", to_local, READS);
    add_operation("cvta.param", from_parameter, READS);
    add_operation("cvta.to.param", to_parameter, READS);
    add_operation("isspacep.global", is_there<IN_GLOBAL>, READS);
    add_operation("isspacep.shared", is_there<IN_SHARED>, READS);
    add_operation("isspacep.local", is_there<IN_LOCAL>, READS);
    add_operation("isspacep.const", is_there<IN_CONSTANT>, READS);
    add_operation("isspacep.param", is_there<IN_PARAMETERS>, READS);
    return true;
}();

}    // namespace
