// poison.cpp -- passes on the marks of values that nothing has written (poison.h)
#include "poison.h"

#include <algorithm>
#include <cstring>

#include "access.h"

namespace {

std::uint64_t ones(unsigned bits) {
    return bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << bits) - 1;
}
// Marks all bits from the lowest marked one on.
std::uint64_t carried(std::uint64_t bits) {
    return bits == 0 ? 0 : ~std::uint64_t(0) << __builtin_ctzll(bits);
}
std::uint64_t sign_extended(std::uint64_t bits, unsigned bytes) {
    return bits >> (8 * bytes - 1) & 1 ? bits | ~ones(8 * bytes) : bits;
}

const char* slot(const Warp& warp, std::int32_t operand) { return warp.at<char>(operand); }

// An operand with its marks.
struct Operand {
    const MarkedSlot* marks = nullptr;
    const char* values = nullptr;
    unsigned bytes = 0;
    std::uint64_t bits(int lane) const { return marks == nullptr ? 0 : marks->bits[lane]; }
    std::uint64_t value(int lane) const {
        std::uint64_t value = 0;
        if (values != nullptr)
            std::memcpy(&value, values + static_cast<std::size_t>(lane) * bytes, bytes);
        return value;
    }
};
Operand operand_of(const Warp& warp, const Instruction& i, int k, unsigned bytes) {
    const std::int32_t number = warp.operand(i, k);
    if (k >= i.count || number < 0) return {};
    const char* values = slot(warp, number);
    auto known = warp.marks.find(values);
    return {known == warp.marks.end() ? nullptr : &known->second, values, bytes};
}

void set_marks(Warp& warp, const char* at, std::uint32_t lanes,
               const std::array<std::uint64_t, WARP_SIZE>& bits,
               const std::array<std::uint32_t, WARP_SIZE>& origin) {
    bool any = false;
    for_lanes(lanes, [&](int lane) { any |= bits[lane] != 0; });
    auto known = warp.marks.find(at);
    if (known == warp.marks.end()) {
        if (!any) return;
        known = warp.marks.try_emplace(at).first;
    }
    MarkedSlot& marks = known->second;
    for_lanes(lanes, [&](int lane) {
        marks.bits[lane] = bits[lane], marks.origin[lane] = origin[lane];
    });
    if (any) return;
    for (std::uint64_t left : marks.bits) any |= left != 0;
    if (!any) warp.marks.erase(known);
}

void use(Worker& w, const Operand& operand, std::uint32_t lanes) {
    if (operand.marks == nullptr) return;
    for_lanes(lanes, [&](int lane) {
        if (operand.marks->bits[lane] != 0)
            w.origins.report(operand.marks->origin[lane], w.findings);
    });
}

// Returns the shadow of a byte that a lane may access, null if it has none.
std::uint8_t* shadow_of(Worker& w, std::uint64_t address, Region** region = nullptr) {
    const auto local = reinterpret_cast<std::uint64_t>(w.local.data());
    if (address - local < w.local.size()) return w.local_written.data() + (address - local);
    Region* found = memory.find(address);
    if (region != nullptr) *region = found;
    if (found == nullptr || found->complete) return nullptr;
    return found->initialised.cells + (address - found->start);
}

// Of an array that was written completely: a byte of it is to be marked.
void open(Region& region) {
    std::memset(region.initialised.cells, 1, region.bytes());
    region.complete = false, region.opened = true;
}

std::uint64_t permuted(std::uint64_t low, std::uint64_t high, std::uint64_t selector) {
    const std::uint64_t bytes = low | high << 32;
    std::uint64_t result = 0;
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned nibble = selector >> 4 * k & 15;
        std::uint64_t byte = bytes >> 8 * (nibble & 7) & 0xFF;
        if (nibble & 8) byte = byte & 0x80 ? 0xFF : 0;
        result |= byte << 8 * k;
    }
    return result;
}

// Returns the first input that decides where bits go: a mark in it, or in a later one, is a use.
int first_deciding(Passing how) {
    switch (how) {
        case Passing::SHIFT_LEFT:
        case Passing::SHIFT_RIGHT:
        case Passing::EXTRACT: return 1;
        case Passing::INSERT:
        case Passing::PERMUTE: return 2;
        default: return 4;    // none
    }
}

// Returns the marked bits of an operation on single bits: those that change with a marked one.
std::uint64_t of_logic(const Operand* in, int lane, std::uint32_t table) {
    std::uint64_t first = 0, changed = 0;
    for (unsigned k = 0; k < 8; ++k) {
        std::uint64_t x[3], result = 0;
        for (unsigned n = 0; n < 3; ++n)
            x[n] = in[n].value(lane) ^ (k >> n & 1 ? in[n].bits(lane) : 0);
        for (unsigned row = 0; row < 8; ++row)
            if (table >> row & 1)
                result |= (row & 4 ? x[0] : ~x[0]) & (row & 2 ? x[1] : ~x[1]) &
                          (row & 1 ? x[2] : ~x[2]);
        if (k == 0) first = result;
        changed |= result ^ first;
    }
    return changed;
}

}    // namespace

void use_marks(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes, int first,
               int count) {
    for (int k = first; k < count; ++k) use(w, operand_of(warp, i, k, 0), lanes);
}

bool blame_unset_address(Worker& w, const Warp& warp, int lane, std::int32_t pc) {
    if (warp.marks.empty()) return false;
    const Operand address = operand_of(warp, w.instruction(pc), 0, 0);
    if (address.bits(lane) == 0) return false;
    w.end_launch(w.origins.finding(address.marks->origin[lane]));
    return true;
}

void drop_marks(Warp& warp, const Instruction& i, std::uint32_t lanes, int first, int count) {
    for (int k = first; k < count; ++k)
        if (warp.operand(i, k) >= 0)
            set_marks(warp, slot(warp, warp.operand(i, k)), lanes, {}, {});
}

void pass_marks(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes,
                const PassingRule& rule) {
    std::array<std::uint64_t, WARP_SIZE> bits{};
    std::array<std::uint32_t, WARP_SIZE> origin{};
    const int parts = rule.from == 0 ? 0 : rule.to / rule.from;
    if (rule.how == Passing::UNPACK) {
        const Operand wide = operand_of(warp, i, parts, rule.to);
        std::vector<std::array<std::uint64_t, WARP_SIZE>> all(static_cast<std::size_t>(parts));
        for_lanes(lanes, [&](int lane) {
            for (int k = 0; k < parts; ++k)
                all[k][lane] = wide.bits(lane) >> 8 * rule.from * k & ones(8 * rule.from);
            if (wide.marks != nullptr) origin[lane] = wide.marks->origin[lane];
        });
        for (int k = 0; k < parts; ++k)
            if (warp.operand(i, k) >= 0)
                set_marks(warp, slot(warp, warp.operand(i, k)), lanes, all[k], origin);
        return;
    }
    if (rule.how == Passing::PRODUCT) {    // the results are among the first half of the operands
        use_marks(w, warp, i, lanes, i.count / 2, i.count);
        return drop_marks(warp, i, lanes, 0, i.count / 2);
    }
    const int inputs = rule.how == Passing::PACK ? parts : 4;
    Operand in[8];
    bool any = false;
    for (int k = 0; k < inputs && k < 8; ++k)
        in[k] = operand_of(warp, i, 1 + k, rule.from), any |= in[k].marks != nullptr;
    if (rule.how == Passing::USE) {
        use_marks(w, warp, i, lanes, 1, i.count);
        any = false;
    }
    if (i.count == 0 || warp.operand(i, 0) < 0) return;
    if (!any) return set_marks(warp, slot(warp, warp.operand(i, 0)), lanes, bits, origin);
    const unsigned width = 8u * rule.from;
    for (int k = first_deciding(rule.how); k < 4; ++k) use(w, in[k], lanes);
    // The optimiser computes what some lanes throw away; the careful translation does not.
    const bool is_careful = w.launch.undo == AT_END;
    std::uint32_t table = rule.table;
    if (rule.how == Passing::LOGIC && table == 0)
        table = static_cast<std::uint32_t>(in[3].value(__builtin_ctz(lanes)));
    for_lanes(lanes, [&](int lane) {
        for (int k = 0; k < inputs && k < 8; ++k)
            if (in[k].bits(lane) != 0) origin[lane] = in[k].marks->origin[lane];
        const std::uint64_t a = in[0].bits(lane), b = in[1].bits(lane);
        std::uint64_t result = 0;
        switch (rule.how) {
            case Passing::MOVE: result = a; break;
            case Passing::PACK:
                for (int k = 0; k < parts && k < 8; ++k)
                    result |= (in[k].bits(lane) & ones(width)) << width * static_cast<unsigned>(k);
                break;
            case Passing::SELECT: {
                const bool first = warp.predicate(warp.operand(i, 3)) >> lane & 1;
                result = first ? a : b;
                const Operand& chosen = in[first ? 0 : 1];
                if (result != 0) origin[lane] = chosen.marks->origin[lane];
                break;
            }
            case Passing::LOGIC: result = of_logic(in, lane, table); break;
            case Passing::SHIFT_LEFT:
            case Passing::SHIFT_RIGHT: {
                std::uint32_t by = 0;
                if (in[1].values != nullptr)
                    std::memcpy(&by, in[1].values + std::size_t(lane) * 4, 4);
                const std::uint64_t from =
                    rule.is_signed ? sign_extended(a & ones(width), rule.from) : a & ones(width);
                if (rule.how == Passing::SHIFT_LEFT) result = by >= width ? 0 : a << by;
                else if (!rule.is_signed) result = by >= width ? 0 : from >> by;
                else
                    result = static_cast<std::uint64_t>(static_cast<std::int64_t>(from) >>
                                                        std::min(by, width - 1));
                break;
            }
            case Passing::CONVERT:
                result = a & ones(width);
                if (rule.is_signed) result = sign_extended(result, rule.from);
                break;
            case Passing::INSERT:
            case Passing::EXTRACT: {
                const int at = rule.how == Passing::INSERT ? 2 : 1;
                std::uint32_t position = 0, length = 0;
                if (in[at].values != nullptr)
                    std::memcpy(&position, in[at].values + std::size_t(lane) * 4, 4);
                if (in[at + 1].values != nullptr)
                    std::memcpy(&length, in[at + 1].values + std::size_t(lane) * 4, 4);
                position &= 0xFF, length &= 0xFF;
                if (rule.how == Passing::INSERT) {
                    const std::uint64_t field = position >= 64 ? 0 : ones(length) << position;
                    result = (b & ~field) | (position >= 64 ? 0 : (a << position) & field);
                } else {
                    result = position >= 64 ? 0 : a >> position & ones(length);
                    if (rule.is_signed && length > 0 && length < 64 && (result >> (length - 1) & 1))
                        result |= ~ones(length);
                }
                break;
            }
            case Passing::PERMUTE: result = permuted(a, b, in[2].value(lane)); break;
            case Passing::CARRY:
                result = carried(a | b | in[2].bits(lane));
                if (result == 0) break;
                if (is_careful && w.origins.is_shuffle(origin[lane]))
                    w.origins.report(origin[lane], w.findings), result = 0;
                origin[lane] |= COMPUTED;
                break;
            case Passing::FLOAT:
                for (int k = 0; k < inputs; ++k) {
                    if (in[k].bits(lane) == 0) continue;
                    const std::uint32_t from = in[k].marks->origin[lane];
                    if (is_careful || !w.origins.is_shuffle(from))
                        w.origins.report(from, w.findings);
                    else result = ~std::uint64_t{0}, origin[lane] = from | COMPUTED;
                }
                break;
            default: break;
        }
        bits[lane] = result & ones(8u * rule.to);
    });
    set_marks(warp, slot(warp, warp.operand(i, 0)), lanes, bits, origin);
}

void stage_marks(Warp& warp, const Instruction& i, std::uint32_t lanes, int operand) {
    const Operand value = operand_of(warp, i, operand, 4);
    for_lanes(lanes, [&](int lane) {
        warp.staged_marks.bits[lane] = value.bits(lane);
        warp.staged_marks.origin[lane] = value.marks == nullptr ? 0 : value.marks->origin[lane];
    });
    warp.has_staged_marks = false;
    for (std::uint64_t bits : warp.staged_marks.bits) warp.has_staged_marks |= bits != 0;
}

void take_staged_marks(Warp& warp, const Instruction& i, std::uint32_t lanes, const int* source,
                       const std::array<std::uint32_t, WARP_SIZE>& nothing) {
    if (warp.operand(i, 0) < 0) return;
    std::array<std::uint64_t, WARP_SIZE> bits{};
    std::array<std::uint32_t, WARP_SIZE> origin{};
    for_lanes(lanes, [&](int lane) {
        if (source[lane] < 0) {
            origin[lane] = nothing[lane], bits[lane] = nothing[lane] != 0 ? UINT32_MAX : 0;
            return;
        }
        bits[lane] = warp.staged_marks.bits[source[lane]];
        origin[lane] = warp.staged_marks.origin[source[lane]];
    });
    set_marks(warp, slot(warp, warp.operand(i, 0)), lanes, bits, origin);
}

void mark_loaded(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
                 std::uint32_t unwritten, const std::uint64_t* addresses) {
    use_marks(w, warp, i, lanes, 0, 1);
    std::array<std::uint32_t, WARP_SIZE> own{};    // the origin that this load is for a lane
    auto load_of = [&](int lane) {
        if (own[lane] != 0) return own[lane];
        Finding finding;
        finding.kind = UNINITIALISED;
        finding.size = std::uint64_t(i.bytes) * i.elements;
        const auto local = reinterpret_cast<std::uint64_t>(w.local.data());
        if (addresses[lane] - local < w.local.size()) {
            finding.region = w.local_region != nullptr ? w.local_region->id : 0;
            finding.offset = static_cast<std::int64_t>(
                addresses[lane] - reinterpret_cast<std::uint64_t>(warp.local_of(lane)));
        } else {
            const Region* region = memory.find(addresses[lane]);
            finding.region = region->id;
            finding.offset = static_cast<std::int64_t>(addresses[lane] - region->start);
        }
        finding.here = w.place(warp, lane, pc, LOAD);
        return own[lane] = w.origins.add(finding, addresses[lane]);
    };
    if (i.bytes > 8)    // no slot of 128 bits has marks
        return for_lanes(lanes & unwritten, [&](int lane) {
            w.origins.report(load_of(lane), w.findings);
        });
    for (int k = 0; k < i.elements; ++k) {
        const std::int32_t to = warp.operand(i, 1 + k);
        if (to < 0) continue;
        std::array<std::uint64_t, WARP_SIZE> bits{};
        std::array<std::uint32_t, WARP_SIZE> origin{};
        for_lanes(lanes & unwritten, [&](int lane) {
            const std::uint64_t address = addresses[lane] + std::uint64_t(k) * i.bytes;
            const std::uint8_t* shadow = shadow_of(w, address);
            for (unsigned b = 0; shadow != nullptr && b < i.bytes; ++b) {
                if (shadow[b] == 1) continue;
                std::uint64_t marked = 0xFF;
                if (auto known = w.origins.bytes.find(address + b);
                    shadow[b] == MARKED && known != w.origins.bytes.end())
                    marked = known->second.bits,
                    origin[lane] = known->second.is_home ? load_of(lane) : known->second.origin;
                else origin[lane] = load_of(lane);
                bits[lane] |= marked << 8 * b;
            }
            if (i.type == S8 || i.type == S16 || i.type == S32)
                bits[lane] = sign_extended(bits[lane], i.bytes);
        });
        set_marks(warp, slot(warp, to), lanes, bits, origin);
    }
}

namespace {

// Whether a store leaves the bits that nothing has written as they are, as one to a bit field does.
bool keeps_marked_bits(const Warp& warp, const Instruction& i, int k, int lane,
                              std::uint64_t address, std::uint64_t marked) {
    std::uint64_t before = 0;
    std::memcpy(&before, reinterpret_cast<const void*>(address), i.bytes);
    const std::uint64_t now = slot_value(warp, warp.operand(i, 1 + k), i.bytes, lane);
    return ((before ^ now) & marked & ones(8u * i.bytes)) == 0;
}

}    // namespace

bool mark_stored(Worker& w, Warp& warp, const Instruction& i, std::uint32_t lanes,
                 const std::uint64_t* addresses) {
    use_marks(w, warp, i, lanes, 0, 1);
    for (int k = 0; k < i.elements; ++k) {
        const Operand value = operand_of(warp, i, 1 + k, i.bytes);
        if (value.marks == nullptr) continue;
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            const int lane = __builtin_ctz(left);
            const std::uint64_t address = addresses[lane] + std::uint64_t(k) * i.bytes;
            if ((value.bits(lane) & ones(8u * i.bytes)) == 0) continue;
            Region* region = nullptr;
            std::uint8_t* shadow = shadow_of(w, address, &region);
            if (region != nullptr && !region->is_shared()) {
                if (w.one_of_many) return w.give_up(), false;
                if (region->complete) open(*region), shadow = shadow_of(w, address);
            }
            const std::uint32_t origin = value.marks->origin[lane];
            const bool keeps = keeps_marked_bits(warp, i, k, lane, address, value.bits(lane));
            for (unsigned b = 0; shadow != nullptr && b < i.bytes; ++b)
                if (const auto bits = static_cast<std::uint8_t>(value.bits(lane) >> 8 * b);
                    bits != 0)
                    shadow[b] = MARKED,
                    w.origins.bytes[address + b] = {
                        bits, keeps && w.origins.read_byte(origin, address + b),
                        origin & ~COMPUTED};
        }
    }
    return true;
}

void use_marked_bytes(Worker& w, std::uint64_t address, std::size_t size) {
    if (w.origins.bytes.empty()) return;
    const std::uint8_t* shadow = shadow_of(w, address);
    for (std::size_t b = 0; shadow != nullptr && b < size; ++b)
        if (auto known = w.origins.bytes.find(address + b);
            shadow[b] == MARKED && known != w.origins.bytes.end())
            w.origins.report(known->second.origin, w.findings);
}

void copy_marks(Worker& w, const char* to, const char* from, std::size_t size) {
    const std::uint8_t* shadow = w.local_written.data() + (from - w.local.data());
    for (std::size_t b = 0; b < size; ++b)
        if (shadow[b] == MARKED)
            if (auto known = w.origins.bytes.find(reinterpret_cast<std::uintptr_t>(from + b));
                known != w.origins.bytes.end()) {
                const MarkedByte byte = known->second;
                w.origins.bytes[reinterpret_cast<std::uintptr_t>(to + b)] = byte;
            }
}

void forget_marks(Warp& warp, const char* slots, std::size_t bytes) {
    for (auto it = warp.marks.begin(); it != warp.marks.end();)
        it = it->first >= slots && it->first < slots + bytes ? warp.marks.erase(it) : std::next(it);
}

void settle_marks(Worker& w) {
    std::vector<std::uint32_t> used;
    for (const auto& [address, byte] : w.origins.bytes) {
        Region* region = memory.find(address);
        if (region == nullptr || region->is_shared() || region->fleeting || region->complete)
            continue;
        std::uint8_t& shadow = region->initialised.cells[address - region->start];
        if (shadow != MARKED) continue;
        shadow = 1;
        if ((byte.bits & region->bits_of_member(address)) != 0) used.push_back(byte.origin);
    }
    std::sort(used.begin(), used.end());
    for (std::uint32_t origin : used) w.origins.report(origin, w.findings);
    for (const auto& region : memory.regions())
        if (region->opened) region->opened = false, region->complete = true;
}
