// access.h -- shared by the files that observe and execute the accesses of a warp
#pragma once
#include "machine.h"
#include "race_watch.h"
#include "shapes.h"

// Whether all addresses of a load are those of a register of 64 bits, but for a number that all
// lanes add; most often it is so.
inline bool has_addresses_in_register(const Instruction& i) {
    return i.operand[0] >= 0 && !(i.flags & ADDRESS_32) && i.space != PARAM_SPACE &&
           i.space != LOCAL_SPACE;
}

// Returns the bits of a value in a slot; those of a value of 8 bits are the lowest of 16.
inline std::uint64_t slot_value(const Warp& warp, std::int32_t slot, unsigned bytes, int lane) {
    switch (bytes) {
        case 1: return warp.at<std::uint16_t>(slot)[lane] & 0xFF;
        case 2: return warp.at<std::uint16_t>(slot)[lane];
        case 4: return warp.at<std::uint32_t>(slot)[lane];
        default: return warp.at<std::uint64_t>(slot)[lane];
    }
}

// Sets Decoded::like of all loads of a program whose instructions are decoded.
void link_alike_loads(Worker& w);

// Returns the array that the pointer of an instruction leads to; null if the encoder does not know
// the pointer, or if the pointer leads to no array.
Region* origin_of(const Worker& w, std::int32_t pc);

// Ends the launch with a finding about an access that would fail or do harm. meant: the encoder
// knows that the address starts from this array.
void refuse_access(Worker& w, Warp& warp, int lane, Kind kind, const Region* region,
                   std::uint64_t address, std::uint32_t size, std::int32_t pc, Access access,
                   bool meant = false);

// The same as observe_access, for addresses with known shapes.
bool observe_access(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align, std::uint32_t counted, std::int32_t shift, bool count,
                    const Shapes& shapes);

// Counts an access. counted, shift: as of observe_access.
void count_access(Worker&, const Warp&, const Request&, std::uint32_t counted, std::int32_t shift);
