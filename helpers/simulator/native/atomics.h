// atomics.h -- read-modify-write operations, and the order that they make between threads that nothing else orders
//
// A thread that passes a __threadfence() and then updates a variable by an atomic releases what it did before the fence to every
// thread that updates the same variable later: the "last block adds up the parts" pattern, and locks.
#pragma once
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "races.h"
#include "warp.h"

// halo_cuda.h declares the same numbers.
enum AtomicOperation : int { ADD = 0, SUBTRACT, EXCHANGE_VALUE, MINIMUM, MAXIMUM, INCREMENT, DECREMENT, AND, OR, XOR, COMPARE_AND_SWAP };
enum AtomicType : int { SIGNED = 0, UNSIGNED = 1, FLOATING = 2 };
constexpr int WITHIN_BLOCK_TYPE = 16;    // added to the type: only threads of one block see it as one

namespace atomics {

template <class T> T value_of(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> T arithmetic(int operation, T old, T operand) {
    switch (operation) {
        case ADD: return static_cast<T>(old + operand);
        case SUBTRACT: return static_cast<T>(old - operand);
        case MINIMUM: return operand < old ? operand : old;
        case MAXIMUM: return old < operand ? operand : old;
        default: return operand;    // EXCHANGE_VALUE
    }
}
// `Unsigned`: integers are added and compared with their own sign, all else is the same for both signs.
template <class Signed, class Unsigned>
std::uint64_t whole(int operation, std::uint64_t old_bits, std::uint64_t operand_bits, std::uint64_t compare_bits, bool is_signed) {
    auto old = value_of<Unsigned>(old_bits), operand = value_of<Unsigned>(operand_bits), compare = value_of<Unsigned>(compare_bits);
    switch (operation) {
        case INCREMENT: return bits_of<Unsigned>(old >= operand ? 0 : old + 1);
        case DECREMENT: return bits_of<Unsigned>(old == 0 || old > operand ? operand : old - 1);
        case AND: return bits_of<Unsigned>(old & operand);
        case OR: return bits_of<Unsigned>(old | operand);
        case XOR: return bits_of<Unsigned>(old ^ operand);
        case COMPARE_AND_SWAP: return bits_of<Unsigned>(old == compare ? operand : old);
        case MINIMUM:
        case MAXIMUM:
            if (is_signed) return bits_of(arithmetic(operation, value_of<Signed>(old_bits), value_of<Signed>(operand_bits)));
    }
    return bits_of(arithmetic(operation, old, operand));
}

// The bits that an operation leaves behind.
inline std::uint64_t result(int operation, std::size_t bytes, std::uint64_t old, std::uint64_t operand, std::uint64_t compare, int type) {
    if (type == FLOATING && operation != COMPARE_AND_SWAP)
        return bytes == 4 ? bits_of(arithmetic(operation, value_of<float>(old), value_of<float>(operand)))
                          : bits_of(arithmetic(operation, value_of<double>(old), value_of<double>(operand)));
    switch (bytes) {
        case 2: return whole<std::int16_t, std::uint16_t>(operation, old, operand, compare, type == SIGNED);
        case 4: return whole<std::int32_t, std::uint32_t>(operation, old, operand, compare, type == SIGNED);
        default: return whole<std::int64_t, std::uint64_t>(operation, old, operand, compare, type == SIGNED);
    }
}

}    // namespace atomics

// What fences and atomics have ordered. Kept only from the first __threadfence() of a launch on, so that a histogram pays nothing.
class Order {
public:
    bool used = false;    // a fence has been seen in this launch

    void begin_launch() { used = false, channels_.clear(), acquired_.clear(); }
    void begin_block() { acquired_.clear(); }

    // A thread that has passed a fence at clock `fenced` (0: none in this block) updates the variable at `address`.
    void atomic(std::uintptr_t address, const Toucher& me, std::uint32_t fenced, const LaneClocks& after) {
        Channel& channel = channels_[address];
        acquire(address, channel, me);
        channel.updates += 1;
        if (fenced != 0) channel.releases[me.block].push_back({channel.updates, me.thread(), fenced, me.turn, after});
    }
    // Whether an earlier access to `address` comes before `me` by what atomics have handed over.
    bool covers(const Earlier& earlier, std::uintptr_t address, const Toucher& me, const LaneClocks& after) const {
        for (const Acquire& mine : acquired_) {
            bool visible = mine.thread == me.thread() || mine.when < me.turn ||
                           (mine.thread >> 5 == me.thread() >> 5 && mine.when < after[mine.thread & 31]);
            if (!visible) continue;
            if (mine.address == address && earlier.access == ATOMIC) return true;    // the variable itself, by its own order
            auto found = mine.channel->releases.find(earlier.block);
            if (found == mine.channel->releases.end()) continue;
            std::uint32_t thread = Toucher::thread_of(earlier.who);
            for (const Release& release : found->second) {
                if (release.number > mine.updates) break;
                if (thread == release.thread ? earlier.when < release.fenced
                                             : earlier.when < release.turn ||
                                                   (thread >> 5 == release.thread >> 5 && earlier.when < release.after[thread & 31]))
                    return true;
            }
        }
        return false;
    }

private:
    struct Release {
        std::uint64_t number;    // of the channel's updates
        std::uint32_t thread, fenced, turn;
        LaneClocks after;
    };
    struct Channel {
        std::uint64_t updates = 0;
        std::unordered_map<std::uint32_t, std::vector<Release>> releases;    // by block
    };
    struct Acquire {
        std::uintptr_t address;
        const Channel* channel;
        std::uint64_t updates;    // how many came before
        std::uint32_t thread, when;
    };
    std::unordered_map<std::uintptr_t, Channel> channels_;
    std::vector<Acquire> acquired_;    // by this block

    void acquire(std::uintptr_t address, const Channel& channel, const Toucher& me) {
        for (Acquire& known : acquired_)
            if (known.address == address && known.thread == me.thread() && known.when == me.when) {
                known.updates = channel.updates;
                return;
            }
        acquired_.push_back({address, &channel, channel.updates, me.thread(), me.when});
    }
};
