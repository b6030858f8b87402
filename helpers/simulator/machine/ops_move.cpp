// ops_move.cpp -- mov, and the packing of registers into wider ones
#include "loops.h"

namespace {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

template <class Word> void move(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word* a = source<Word>(w, i, 1);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return a[l]; });
}
void move_predicate(Lanes& w, const Instruction& i, uint32_t lanes) {
    keep_predicate(w.predicate(i.operand[0]), w.predicate(i.operand[1]), lanes);
}
struct Double64 {
    uint64_t lower, upper;
};
void move_128(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Double64* a = source<Double64>(w, i, 1);
    lane_by_lane(result_of<Double64>(w, i), lanes, [=](int l) { return a[l]; });
}

// pack d, a, b, ...: a is the lowest part. "_" counts as zero.
template <class Wide, class Part> void pack(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr int parts = sizeof(Wide) / sizeof(Part);
    static const Part none[WARP_SIZE] = {};
    const Part* given[parts];
    for (int k = 0; k < parts; ++k)
        given[k] = i.operand[1 + k] == -1 ? none : source<Part>(w, i, 1 + k);
    all_lanes(result_of<Wide>(w, i), lanes, [=](int l) {
        Wide all = 0;
        for (int k = 0; k < parts; ++k)
            all |= static_cast<Wide>(static_cast<Wide>(given[k][l]) << 8 * sizeof(Part) * k);
        return all;
    });
}
template <class Wide, class Part> void unpack(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr int parts = sizeof(Wide) / sizeof(Part);
    const Wide* given = source<Wide>(w, i, parts);
    for (int k = 0; k < parts; ++k) {
        if (i.operand[k] == -1) continue;
        all_lanes(w.at<Part>(i.operand[k]), lanes,
                  [=](int l) { return static_cast<Part>(given[l] >> 8 * sizeof(Part) * k); });
    }
}
// 8-bit parts lie in slots of 16 bits.
template <class Wide> void pack_bytes(Lanes& w, const Instruction& i, uint32_t lanes) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int l = __builtin_ctz(left);
        Wide all = 0;
        for (int k = 0; k < static_cast<int>(sizeof(Wide)); ++k) {
            const uint32_t byte =
                i.operand[1 + k] == -1 ? 0 : source<uint16_t>(w, i, 1 + k)[l] & 0xFFu;
            all = static_cast<Wide>(all | byte << 8 * k);
        }
        result_of<Wide>(w, i)[l] = all;
    }
}
template <class Wide> void unpack_bytes(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr int parts = sizeof(Wide);
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const Wide given = source<Wide>(w, i, parts)[l];
        for (int k = 0; k < parts; ++k)
            if (i.operand[k] != -1) w.at<uint16_t>(i.operand[k])[l] = given >> 8 * k & 0xFF;
    }
}
void pack_128(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint64_t *a = source<uint64_t>(w, i, 1), *b = source<uint64_t>(w, i, 2);
    lane_by_lane(result_of<Double64>(w, i), lanes, [=](int l) { return Double64{a[l], b[l]}; });
}
void unpack_128(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Double64* given = source<Double64>(w, i, 2);
    if (i.operand[0] != -1)
        all_lanes(w.at<uint64_t>(i.operand[0]), lanes, [=](int l) { return given[l].lower; });
    if (i.operand[1] != -1)
        all_lanes(w.at<uint64_t>(i.operand[1]), lanes, [=](int l) { return given[l].upper; });
}

template <class Wide, class Part>
void add_packing(const char* types, Operation packs = pack<Wide, Part>,
                 Operation unpacks = unpack<Wide, Part>) {
    add_operation({"pack.", types}, packs, "t", passes<Wide, Part>(Passing::PACK));
    add_operation({"unpack.", types}, unpacks, "t", passes<Wide, Part>(Passing::UNPACK));
}

const bool registered = [] {
    add_operation("mov.b16", move<uint16_t>, "t", passes<uint16_t>(Passing::MOVE));
    add_operation("mov.b32", move<uint32_t>, "t", passes<uint32_t>(Passing::MOVE));
    add_operation("mov.b64", move<uint64_t>, "t", passes<uint64_t>(Passing::MOVE));
    add_operation("mov.b128", move_128);
    add_operation("mov.pred", move_predicate);
    add_packing<uint32_t, uint16_t>("b32.b16"), add_packing<uint64_t, uint32_t>("b64.b32");
    add_packing<uint64_t, uint16_t>("b64.b16");
    add_packing<uint16_t, std::uint8_t>("b16.b8", pack_bytes<uint16_t>, unpack_bytes<uint16_t>);
    add_packing<uint32_t, std::uint8_t>("b32.b8", pack_bytes<uint32_t>, unpack_bytes<uint32_t>);
    add_operation("pack.b128.b64", pack_128), add_operation("unpack.b128.b64", unpack_128);
    return true;
}();

}    // namespace
