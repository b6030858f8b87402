// atomics.cpp -- atom and red: the lanes of a warp update one after another, the lowest first
#include <algorithm>
#include <cstring>

#include "access.h"
#include "atomics.h"
#include "floats.h"

namespace {

template <class T> T as_value(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> std::uint64_t as_bits(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class Signed, class Unsigned>
std::uint64_t whole(int operation, std::uint64_t old_bits, std::uint64_t operand_bits,
                    std::uint64_t new_bits, bool is_signed) {
    auto old = static_cast<Unsigned>(old_bits), operand = static_cast<Unsigned>(operand_bits);
    auto signed_old = static_cast<Signed>(old), signed_operand = static_cast<Signed>(operand);
    switch (operation) {
        case ATOMIC_ADD: return static_cast<Unsigned>(old + operand);
        case ATOMIC_MIN:
            return static_cast<Unsigned>(
                is_signed ? static_cast<Unsigned>(std::min(signed_old, signed_operand))
                          : std::min(old, operand));
        case ATOMIC_MAX:
            return static_cast<Unsigned>(
                is_signed ? static_cast<Unsigned>(std::max(signed_old, signed_operand))
                          : std::max(old, operand));
        case ATOMIC_AND: return old & operand;
        case ATOMIC_OR: return old | operand;
        case ATOMIC_XOR: return old ^ operand;
        case ATOMIC_INC: return old >= operand ? 0 : static_cast<Unsigned>(old + 1);
        case ATOMIC_DEC:
            return old == 0 || old > operand ? operand : static_cast<Unsigned>(old - 1);
        case ATOMIC_CAS: return old == operand ? static_cast<Unsigned>(new_bits) : old;
        default: return operand;    // ATOMIC_EXCH
    }
}

// The arithmetic units do the additions in shared memory. Global memory has units of its own: they
// take a subnormal float for zero. They keep the bits of a NaN among doubles; of two NaNs they keep
// the one that is added.
float added(float old, float operand, bool in_global) {
    return canonical(in_global ? flushed(flushed(old) + flushed(operand)) : old + operand);
}
double added(double old, double operand, bool in_global) {
    if (in_global && operand != operand) return operand;
    if (in_global && old != old) return old;
    return settled(old + operand, old, operand);
}
template <class T> T floating(int operation, T old, T operand) {
    switch (operation) {
        case ATOMIC_ADD: return old + operand;
        case ATOMIC_MIN: return std::fmin(old, operand);
        default: return std::fmax(old, operand);
    }
}
std::uint16_t half(int operation, std::uint16_t old, std::uint16_t operand, bool is_bf16) {
    float a = is_bf16 ? float_of_brain(old) : float_of_half(old),
          b = is_bf16 ? float_of_brain(operand) : float_of_half(operand);
    float result = floating(operation, a, b);
    return is_bf16 ? brain_of_float(result) : half_of_float(result);
}

// Returns the bits in memory after an operation. A compare-and-swap compares with `operand` and
// stores `fresh`.
std::uint64_t result_of(int operation, std::uint8_t type, unsigned bytes, std::uint64_t old,
                        std::uint64_t operand, std::uint64_t fresh, bool in_global) {
    bool is_bit_pattern = operation == ATOMIC_CAS || operation == ATOMIC_EXCH;
    if (!is_bit_pattern) {
        auto low = [](std::uint64_t v) { return static_cast<std::uint16_t>(v); };
        auto high = [](std::uint64_t v) { return static_cast<std::uint16_t>(v >> 16); };
        switch (type) {
            case F32:
                return as_bits(added(as_value<float>(old), as_value<float>(operand), in_global));
            case F64:
                return as_bits(added(as_value<double>(old), as_value<double>(operand), in_global));
            case F16:
            case BF16: return half(operation, low(old), low(operand), type == BF16);
            case F16X2:
            case BF16X2: {
                bool is_bf16 = type == BF16X2;
                std::uint32_t upper = half(operation, high(old), high(operand), is_bf16);
                return upper << 16 | half(operation, low(old), low(operand), is_bf16);
            }
        }
    }
    bool is_signed = type == S16 || type == S32 || type == S64;
    switch (bytes) {
        case 2:
            return whole<std::int16_t, std::uint16_t>(operation, old, operand, fresh, is_signed);
        case 4:
            return whole<std::int32_t, std::uint32_t>(operation, old, operand, fresh, is_signed);
        default:
            return whole<std::int64_t, std::uint64_t>(operation, old, operand, fresh, is_signed);
    }
}

void set_slot(const Warp& warp, std::int32_t slot, unsigned bytes, int lane, std::uint64_t value) {
    switch (bytes) {
        case 2: warp.at<std::uint16_t>(slot)[lane] = static_cast<std::uint16_t>(value); break;
        case 4: warp.at<std::uint32_t>(slot)[lane] = static_cast<std::uint32_t>(value); break;
        default: warp.at<std::uint64_t>(slot)[lane] = value;
    }
}

// A loop of compare-and-swap starts with a plain read, a guess. The compare-and-swap of the same
// lane tests the guess, so the read does not race with later updates: the cells forget it.
void forget_guess(Worker& w, const Warp& warp, std::uint32_t lanes, std::uint64_t address,
             std::uint32_t size) {
    Region* region = memory.find(address);
    if (region == nullptr) return;
    enter_pending(w, *region);
    if (region->races.cells == nullptr || !region->holds(address, size)) return;
    auto takes_part = [&](std::uint32_t who) {
        const std::uint32_t thread = Toucher::thread_of(who);
        return thread / WARP_SIZE == warp.number && (lanes >> (thread % WARP_SIZE) & 1);
    };
    RaceCell* cell = region->cells_at(address - region->start, size);
    for (RaceCell* end = cell + (size >> region->grain); cell != end; ++cell)
        if (cell->read_block == w.block_number &&
            !(cell->read_flags & (Races::MANY_WARPS | Races::MANY_BLOCKS)) &&
            takes_part(cell->read_who) && takes_part(cell->first_reader))
            cell->read_block = 0;
}

bool in_shared(const Instruction& i, std::uint64_t address) {
    if (i.space != GENERIC) return i.space == SHARED_SPACE;
    const Region* region = memory.find(address);
    return region != nullptr && (region->space == SHARED || region->space == DYNAMIC_SHARED);
}

// Counts an atomic in the form that ptxas gives it.
void count_atomic(Worker& w, const Warp& warp, const Instruction& i, std::int32_t pc,
                  std::uint32_t lanes, const std::uint64_t* addresses, std::uint32_t size,
                  int operation) {
    const bool swaps = operation == ATOMIC_CAS, adds = operation == ATOMIC_ADD;
    Region* regions[WARP_SIZE] = {};
    Region* const first = memory.find(addresses[__builtin_ctz(lanes)]);
    bool same = true;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        regions[lane] = first->holds(addresses[lane], size) ? first : memory.find(addresses[lane]);
        same &= regions[lane] == first;
    }
    const Request request{addresses, lanes, static_cast<std::uint32_t>(pc), size, size,
                          ATOMIC,    first, same ? nullptr : regions};
    const bool of_halves = swaps && size == 2;
    Swaps halves;
    for (std::uint32_t left = of_halves ? lanes : 0; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        halves.compared[lane] =
            static_cast<std::uint16_t>(slot_value(warp, warp.operand(i, 2), 2, lane));
        halves.fresh[lane] =
            static_cast<std::uint16_t>(slot_value(warp, warp.operand(i, 3), 2, lane));
    }
    std::uint32_t idle = 0;    // lanes that add nothing
    for (std::uint32_t left = adds && size == 8 ? lanes : 0; left != 0; left &= left - 1)
        if (slot_value(warp, warp.operand(i, 2), 8, __builtin_ctz(left)) == 0) idle |= left & -left;
    const bool keeps = size == 8 && (operation == ATOMIC_MIN || operation == ATOMIC_MAX);
    Offers offers;
    for (std::uint32_t left = keeps ? lanes : 0; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const std::uint64_t turned = (i.type == S64 ? std::uint64_t(1) << 63 : 0) ^
                                     (operation == ATOMIC_MAX ? ~std::uint64_t(0) : 0);
        std::memcpy(&offers.held[lane], reinterpret_cast<const void*>(addresses[lane]), 8);
        offers.held[lane] ^= turned;
        offers.offered[lane] = slot_value(warp, warp.operand(i, 2), 8, lane) ^ turned;
    }
    const bool watched = w.traffic.watches(w.block_linear, warp.number, w.async.in_flight);
    w.traffic.atomic(request, std::max(i.join, 0), swaps, i.space == GENERIC, watched,
                     of_halves ? &halves : nullptr, idle, keeps ? &offers : nullptr);
}

bool is_whole(const Instruction& i) {
    return i.type != NO_TYPE && (i.type < F16 || i.type > E5M2X2);
}

// An update of global memory while other workers run blocks, too. Whole numbers give the same sum,
// smallest or largest number and bits in any order, if no thread reads a value in between. So the
// launch needs only one kind of update for each array. Whatever else there is, one worker runs,
// because the order of the blocks decides what a thread reads, how a sum of floating-point numbers
// is rounded, and which exchange comes last. encoded.py asks for one worker where it sees this
// before the launch.
bool update_together(Worker& w, const Warp& warp, const Instruction& i, int operation, int lane,
                     std::uint64_t address) {
    const bool fits = (i.bytes == 4 || i.bytes == 8) && i.elements == 1;
    Region* const region = memory.find(address);
    if (operation > ATOMIC_XOR || !is_whole(i) || !fits || !(i.flags & RESULT_UNUSED) ||
        (i.flags & (ACQUIRE | RELEASE)) || region == nullptr)
        return w.give_up(), false;
    const std::uint32_t kind = 1u << 24 | static_cast<std::uint32_t>(operation) << 16 |
                               std::uint32_t(i.type) << 8 | i.bytes;
    std::uint32_t known = 0;
    if (!__atomic_compare_exchange_n(&region->updated_by, &known, kind, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED) &&
        known != kind)
        return w.give_up(), false;
    const std::uint64_t operand = slot_value(warp, warp.operand(i, 2), i.bytes, lane);
    auto update = [&](auto* place) {
        auto old = __atomic_load_n(place, __ATOMIC_RELAXED);
        decltype(old) fresh;
        do
            fresh = static_cast<decltype(old)>(
                result_of(operation, i.type, i.bytes, old, operand, 0, true));
        while (!__atomic_compare_exchange_n(place, &old, fresh, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED));
    };
    if (i.bytes == 4) update(reinterpret_cast<std::uint32_t*>(address));
    else update(reinterpret_cast<std::uint64_t*>(address));
    return true;
}

// The common update: each lane adds to a whole number of 4 or 8 bytes.
template <class T>
void add_by_lane(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes,
                 const std::uint64_t* addresses) {
    const std::int32_t to = warp.operand(i, 1);
    const T* operands = &warp.at<T>(warp.operand(i, 2))[0];
    T added = 0;
    for_lanes(lanes, [&](int lane) {
        const T operand = operands[lane];
        T old;
        std::memcpy(&old, reinterpret_cast<const void*>(addresses[lane]), sizeof old);
        const T fresh = old + operand;
        std::memcpy(reinterpret_cast<void*>(addresses[lane]), &fresh, sizeof fresh);
        if (to >= 0) warp.at<T>(to)[lane] = old;
        added |= operand;
    });
    w.has_changed |= added != 0;
    warp.yielding |= added == 0 && !(i.flags & RESULT_UNUSED);
}

// Orders a lane with the other threads that update the variable. A lock is taken by a
// compare-and-swap or an exchange that changes the variable; one that acquires is a fence, too.
void order_update(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, int operation,
                  int lane, std::uint64_t address, std::uint64_t old, std::uint64_t fresh) {
    const Toucher32 me(w, warp, lane, pc);
    const bool changes = old != fresh || i.bytes == 16;
    w.order.atomic(address, me, warp.fence[lane], warp.after[lane], fresh, changes);
    if ((operation != ATOMIC_CAS && operation != ATOMIC_EXCH) || old == fresh ||
        (i.flags & ACQUIRE))
        return;
    warp.clock.set(lane, ++w.now);
    w.order.take(address, me, w.now, old);
}

// A compare-and-swap of 128 bits, and the exchange.
void update_128(Warp& warp, const Instruction& i, int operation, int lane, std::uint64_t address) {
    struct Wide {
        std::uint64_t low, high;
    } old, fresh;
    std::memcpy(&old, reinterpret_cast<const void*>(address), 16);
    Wide operand = warp.at<Wide>(i.operand[2])[lane];
    fresh = operand;
    if (operation == ATOMIC_CAS) {
        bool equal = old.low == operand.low && old.high == operand.high;
        fresh = equal ? warp.at<Wide>(i.operand[3])[lane] : old;
    }
    std::memcpy(reinterpret_cast<void*>(address), &fresh, 16);
    if (i.operand[1] >= 0) warp.at<Wide>(i.operand[1])[lane] = old;
}

}    // namespace

bool run_atomic(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
                int operation) {
    std::uint64_t addresses[WARP_SIZE];
    addresses_of(w, warp, i, addresses);
    const std::uint32_t size = std::uint32_t(i.bytes) * i.elements;
    const bool swaps = operation == ATOMIC_CAS, floats = i.type == F32 || i.type == F64;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        if (UNLIKELY(warp.guessing >> lane & 1) && warp.guessed[lane] == addresses[lane])
            settle_guess(w, warp, lane, swaps);
    }
    for (std::uint32_t left = swaps ? lanes : 0; left != 0;) {
        const std::uint64_t address = addresses[__builtin_ctz(left)];
        std::uint32_t same = 0;
        for (std::uint32_t rest = left; rest != 0; rest &= rest - 1)
            if (addresses[__builtin_ctz(rest)] == address) same |= rest & -rest;
        forget_guess(w, warp, same, address, size);
        left &= ~same;
    }
    if (!observe_access(w, warp, pc, lanes, addresses, size, ATOMIC, true, UINT32_MAX, 0, false))
        return false;
    if (w.observe & TRAFFIC)
        count_atomic(w, warp, i, pc, lanes, addresses, size, operation);
    if (i.flags & (ACQUIRE | RELEASE))
        w.order.used = true;    // cuda::atomic with an order of its own is a fence and an atomic
    if (operation == ATOMIC_ADD && i.elements == 1 && is_whole(i) && !w.order.used &&
        (!w.one_of_many || i.space == SHARED_SPACE)) {
        if (i.bytes == 4) return add_by_lane<std::uint32_t>(w, warp, i, lanes, addresses), true;
        if (i.bytes == 8) return add_by_lane<std::uint64_t>(w, warp, i, lanes, addresses), true;
    }
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        const std::uint64_t address = addresses[lane];
        if (UNLIKELY(w.one_of_many) && !in_shared(i, address)) {
            if (!update_together(w, warp, i, operation, lane, address)) return false;
            continue;
        }
        if (w.order.used) {
            if (i.flags & RELEASE) {
                warp.clock.set(lane, ++w.now);
                (i.flags & SCOPE_CTA ? warp.fence[lane].block_clock : warp.fence[lane].clock) =
                    warp.clock[lane];
            }
        }
        if (i.bytes == 16) {
            if (w.order.used) order_update(w, warp, i, pc, operation, lane, address, 0, 0);
            update_128(warp, i, operation, lane, address);
            w.has_changed = true;
            continue;
        }
        const bool in_global = floats && !in_shared(i, address);
        for (int k = 0; k < i.elements; ++k) {
            const std::int32_t to = warp.operand(i, 1 + k),
                               from = warp.operand(i, 1 + i.elements + k);
            const std::int32_t swap = swaps ? warp.operand(i, 3) : -1;
            void* place = reinterpret_cast<void*>(address + std::uint64_t(k) * i.bytes);
            std::uint64_t old = 0;
            std::memcpy(&old, place, i.bytes);
            std::uint64_t operand = slot_value(warp, from, i.bytes, lane);
            const std::uint64_t wanted = swaps ? slot_value(warp, swap, i.bytes, lane) : 0;
            const std::uint64_t fresh =
                result_of(operation, i.type, i.bytes, old, operand, wanted, in_global);
            std::memcpy(place, &fresh, i.bytes);
            w.has_changed |= fresh != old;
            if (k == 0 && w.order.used)
                order_update(w, warp, i, pc, operation, lane, address, old, fresh);
            if (to >= 0) set_slot(warp, to, i.bytes, lane, old);
            // The thread may wait for a lock whose owner has not had its turn, or look at a flag,
            // a whole number.
            const bool looks = is_whole(i) && !(i.flags & RESULT_UNUSED) && operand == 0 &&
                               fresh == old &&
                               (operation == ATOMIC_OR || operation == ATOMIC_XOR ||
                                operation == ATOMIC_ADD);
            if ((swaps && fresh == old) || operation == ATOMIC_EXCH || looks)
                warp.yielding = true;
        }
    }
    return true;
}

const bool registered = [] {
    for (std::uint8_t k = 0; k < std::size(atomic_names); ++k)
        add_operation({"atom.", atomic_names[k]}, ATOMIC_UPDATE, k);
    return true;
}();
