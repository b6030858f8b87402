// calls.cpp -- functions that a kernel calls: their frames, arguments and return values
#include <cstring>

#include "joins.h"

namespace {

void release_frame(Warp& warp, Frame* frame) {
    if (frame == nullptr || frame == &warp.bottom) return;
    frame->caller = nullptr, frame->function = -1;    // free
}

Frame* take_frame(Warp& warp, const Function& function, std::int32_t number) {
    Frame* frame = nullptr;
    for (auto& one : warp.frames)
        if (one->function < 0) frame = one.get();
    if (frame == nullptr) {
        warp.frames.push_back(std::make_unique<Frame>());
        frame = warp.frames.back().get();
    }
    const std::size_t bytes = function.frame_bytes + 64;
    if (frame->capacity < bytes) {
        frame->memory.reset(new char[bytes]());
        frame->capacity = bytes;
        frame->slots = frame->memory.get() +
                       (64 - reinterpret_cast<std::uintptr_t>(frame->memory.get()) % 64) % 64;
    }
    frame->function = number;
    return frame;
}

// Calls each(caller's offset, function's offset, bytes) for the arguments or the return values of a
// call. The caller has them in its local memory, the function at the start of its own.
template <class Each>
void each_passed(const Worker& w, const Instruction& call, bool returns, Each each) {
    const std::int32_t* at = w.launch.program.operands + call.more;
    std::uint32_t formal = 0;
    const std::int32_t return_count = *at++;
    for (std::int32_t k = 0; k < return_count; ++k, at += 2) {
        if (returns)
            each(static_cast<std::uint32_t>(at[0]), formal, static_cast<std::uint32_t>(at[1]));
        formal += (static_cast<std::uint32_t>(at[1]) + 15) / 16 * 16;
    }
    const std::int32_t argument_count = *at++;
    for (std::int32_t k = 0; k < argument_count; ++k, at += 2) {
        if (!returns)
            each(static_cast<std::uint32_t>(at[0]), formal, static_cast<std::uint32_t>(at[1]));
        formal += (static_cast<std::uint32_t>(at[1]) + 15) / 16 * 16;
    }
}

void copy_local(Worker& w, Warp& warp, std::uint32_t lanes, std::uint32_t to, std::uint32_t from,
                std::uint32_t size) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        char* stack = warp.local_of(__builtin_ctz(left));
        std::memcpy(stack + to, stack + from, size);
        std::uint8_t* written = w.local_written.data() + (stack - w.local.data());
        std::memcpy(written + to, written + from, size);
        if (UNLIKELY(!w.origins.bytes.empty())) copy_marks(w, stack + to, stack + from, size);
    }
}

bool stack_overflow(Worker& w, Warp& warp, std::uint32_t lanes, std::int32_t pc) {
    w.fault(warp, __builtin_ctz(lanes), pc, STACK_OVERFLOW);
    return false;
}

// Remembers the call with the largest stack. Returns false if the launch is over.
bool note_stack(Worker& w, Warp& warp, std::uint32_t lanes, std::int32_t pc, std::uint64_t stack) {
    w.deepest.kind = STACK_LIMIT, w.deepest.size = stack;
    w.deepest.offset = static_cast<std::int64_t>(w.launch.stack_limit);
    w.deepest.here = w.place(warp, __builtin_ctz(lanes), pc, LOAD);
    if (stack <= w.launch.stack_limit) return true;
    if (w.one_of_many) w.give_up();
    else if (w.launch.stack_ends) w.end_launch(w.deepest);
    else return true;
    return false;
}

bool enter_function(Worker& w, Warp& warp, std::uint32_t lanes, std::int32_t pc,
                    std::int32_t number) {
    const Instruction& call = w.instruction(pc);
    const Function& function = w.launch.program.functions[number];
    Frame* caller = warp.path().frame;
    const Function& own = w.launch.program.functions[caller->function];
    const std::uint32_t local = caller->local + own.local_bytes;
    if (std::uint64_t(local) + function.local_bytes > w.launch.local_bytes ||
        warp.frames.size() > 4096)
        return stack_overflow(w, warp, lanes, pc);
    const std::uint64_t stack = caller->stack + function.stack_bytes;
    if (UNLIKELY(stack > w.deepest.size) && !note_stack(w, warp, lanes, pc, stack)) return false;
    Frame* frame = take_frame(warp, function, number);
    frame->caller = caller, frame->call = pc, frame->local = local, frame->stack = stack;
    if (UNLIKELY(!warp.marks.empty())) forget_marks(warp, frame->slots, function.frame_bytes);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        char* start = warp.local_of(__builtin_ctz(left)) + local;
        std::memset(start, 0xFF, function.local_bytes);
        std::memset(w.local_written.data() + (start - w.local.data()), 0, function.local_bytes);
    }
    each_passed(w, call, false,
                [&](std::uint32_t actual, std::uint32_t formal, std::uint32_t size) {
                    copy_local(w, warp, lanes, local + formal, caller->local + actual, size);
                });
    Path& path = warp.path();
    path.join = open_join(warp, Join::RETURN_JOIN, pc + 1, path.join, lanes, caller);
    path.frame = frame;
    path.pc = function.first;
    return true;
}

}    // namespace

void split_off(Warp& warp, std::int32_t pc, std::uint32_t lanes, bool joined) {
    Path& path = warp.path();
    if (joined && join_pc(warp, path.join) != pc + 1)
        path.join = open_join(warp, Join::BRANCH_JOIN, pc + 1, path.join, path.lanes, path.frame);
    const std::uint32_t rest = path.lanes & ~lanes;
    path.lanes = lanes;
    if (joined) {
        arrive(warp, path.join, rest);
        return;
    }
    Path other = path;
    other.lanes = rest, other.pc = pc + 1;
    warp.paths.push_back(other);
}

void leave_function(Worker& w, Warp& warp, std::uint32_t lanes) {
    Frame* frame = warp.path().frame;
    const Instruction& call = w.instruction(frame->call);
    each_passed(w, call, true, [&](std::uint32_t actual, std::uint32_t formal, std::uint32_t size) {
        copy_local(w, warp, lanes, frame->caller->local + actual, frame->local + formal, size);
    });
    std::int32_t join = warp.path().join;
    while (join >= 0 && warp.joins[join].kind != Join::RETURN_JOIN) join = warp.joins[join].outer;
    leave_joins(warp, warp.path().join, join, lanes);
    warp.path().lanes &= ~lanes;
    arrive(warp, join, lanes);
    if (!warp.joins[join].used) release_frame(warp, frame);
}

Outcome call(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes) {
    if (i.target < 0 && i.target != INT32_MIN) {
        if (!run_builtin(w, warp, i, pc, lanes, -1 - i.target)) return STOPS;
        warp.path().pc = pc + 1;
        return GOES_ON;
    }
    if (lanes != warp.path().lanes) split_off(warp, pc, lanes, true);
    std::int32_t number = i.target;
    if (number == INT32_MIN) {
        const auto* pointers = warp.at<std::uint64_t>(i.operand[0]);
        const int lead = __builtin_ctz(lanes);
        std::uint32_t same = 0;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1)
            if (pointers[__builtin_ctz(left)] == pointers[lead]) same |= left & -left;
        // Each function is called by a path of its own. The lanes meet right behind the call if the
        // machine code has a meeting place there (ptx/parting.py), else where those of an outer
        // branch do (measured).
        if (same != lanes) {
            Path& path = warp.path();
            if (i.join >= 0 && join_pc(warp, path.join) != i.join)
                path.join = open_join(warp, Join::BRANCH_JOIN, i.join, path.join, lanes, path.frame);
            Path other = path;
            other.lanes = lanes & ~same, other.pc = pc;
            path.lanes = same;
            warp.paths.push_back(other);
            return GOES_ON;
        }
        const std::uint64_t pointer = pointers[lead], tag = std::uint64_t(1) << 62;
        if (pointer < tag || pointer >= tag + w.launch.program.function_count) {
            if (blame_unset_address(w, warp, lead, pc)) return STOPS;
            w.fault(warp, lead, pc, WILD_CALL,
                    pointer == 0 ? "a null pointer" : "an address where no function is",
                    static_cast<std::int64_t>(pointer));
            return STOPS;
        }
        number = static_cast<std::int32_t>(pointer - tag);
    }
    return enter_function(w, warp, lanes, pc, number) ? GOES_ON : STOPS;
}
