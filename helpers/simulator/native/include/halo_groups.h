// halo_groups.h -- what cooperative_groups.h declares: blocks, tiles of a warp, and what their threads do together
//
// A source may define macros with short names before it includes this: no name in here is shorter than three letters.
#pragma once
#include "halo_lanes.h"

extern "C++" {
namespace cooperative_groups {

class thread_group {
public:
    HALO_INLINE void sync(unsigned line = __builtin_LINE()) const { lanes_ ? halo_syncwarp(lanes_, line) : halo_syncthreads(line); }
    HALO_INLINE unsigned long long size() const { return lanes_ ? __builtin_popcount(lanes_) : halo::threads_of_block(); }
    HALO_INLINE unsigned long long num_threads() const { return size(); }
    HALO_INLINE unsigned long long thread_rank() const {
        return lanes_ ? __builtin_popcount(lanes_ & ((1u << halo::lane_number()) - 1)) : halo::thread_rank();
    }
    HALO_INLINE bool is_valid() const { return true; }

protected:
    HALO_INLINE explicit constexpr thread_group(unsigned lanes) : lanes_(lanes) {}
    friend thread_group tiled_partition(const thread_group& parent, unsigned tile_size);
    unsigned lanes_;    // of this warp; 0: the whole block
};

class thread_block : public thread_group {
public:
    HALO_INLINE static void sync(unsigned line = __builtin_LINE()) { halo_syncthreads(line); }
    HALO_INLINE static unsigned size() { return halo::threads_of_block(); }
    HALO_INLINE static unsigned num_threads() { return size(); }
    HALO_INLINE static unsigned thread_rank() { return halo::thread_rank(); }
    HALO_INLINE static dim3 group_index() { return dim3(halo_block_index(0), halo_block_index(1), halo_block_index(2)); }
    HALO_INLINE static dim3 thread_index() { return dim3(halo_thread_index(0), halo_thread_index(1), halo_thread_index(2)); }
    HALO_INLINE static dim3 dim_threads() { return dim3(halo_block_dim(0), halo_block_dim(1), halo_block_dim(2)); }
    HALO_INLINE static dim3 group_dim() { return dim_threads(); }

private:
    HALO_INLINE constexpr thread_block() : thread_group(0) {}
    friend thread_block this_thread_block();
};
HALO_INLINE thread_block this_thread_block() { return thread_block(); }

// What the lanes of one warp can do together. `Group` gives lane_of(rank) and rank_of(lane).
template <class Group> class lanes_together : public thread_group {
public:
    template <class Value> HALO_INLINE Value shfl(Value value, int rank, unsigned line = __builtin_LINE()) const {
        return take(value, group().wrapped(rank), line);
    }
    template <class Value> HALO_INLINE Value shfl_up(Value value, unsigned delta, unsigned line = __builtin_LINE()) const {
        unsigned mine = group().rank();
        return take(value, delta <= mine ? mine - delta : mine, line);
    }
    template <class Value> HALO_INLINE Value shfl_down(Value value, unsigned delta, unsigned line = __builtin_LINE()) const {
        unsigned mine = group().rank(), from = mine + delta;
        return take(value, from < group().count() && from >= mine ? from : mine, line);
    }
    HALO_INLINE unsigned ballot(int predicate, unsigned line = __builtin_LINE()) const {
        return group().packed(__ballot_sync(lanes_, predicate, line));
    }
    HALO_INLINE int any(int predicate, unsigned line = __builtin_LINE()) const { return ballot(predicate, line) != 0; }
    HALO_INLINE int all(int predicate, unsigned line = __builtin_LINE()) const { return ballot(!predicate, line) == 0; }
    template <class Value> HALO_INLINE unsigned match_any(Value value, unsigned line = __builtin_LINE()) const {
        return group().packed(__match_any_sync(lanes_, value, line));
    }
    template <class Value> HALO_INLINE unsigned match_all(Value value, int& predicate, unsigned line = __builtin_LINE()) const {
        unsigned found = match_any(value, line), everybody = group().packed(lanes_);
        predicate = found == everybody;
        return predicate ? everybody : 0;
    }

protected:
    HALO_INLINE explicit constexpr lanes_together(unsigned lanes) : thread_group(lanes) {}
    template <class Value> HALO_INLINE Value take(const Value& value, unsigned rank, unsigned line) const {
        static_assert(sizeof(Value) <= 32, "cooperative groups: a value of a shuffle has at most 32 bytes");
        halo::Warp<Value> warp;
        halo::exchange(lanes_, line, value, warp);
        return halo::value_of_lane(warp, group().lane_of(rank) & 31, line);
    }

private:
    HALO_INLINE const Group& group() const { return static_cast<const Group&>(*this); }
};

template <unsigned tile_size, class ParentGroup = void> class thread_block_tile : public lanes_together<thread_block_tile<tile_size, ParentGroup>> {
    static_assert(tile_size >= 1 && (tile_size & (tile_size - 1)) == 0, "cooperative groups: the size of a tile is a power of two");
    static_assert(tile_size <= 32, "cooperative groups: the simulator has tiles of at most 32 threads; larger ones need a GPU");
    using Base = lanes_together<thread_block_tile>;

public:
    template <class Other> HALO_INLINE thread_block_tile(const thread_block_tile<tile_size, Other>& other)
        : Base(lanes()), rank_(other.meta_group_rank()), groups_(other.meta_group_size()) {}
    HALO_INLINE static constexpr unsigned size() { return tile_size; }
    HALO_INLINE static constexpr unsigned num_threads() { return tile_size; }
    HALO_INLINE static unsigned thread_rank() { return halo::lane_number() & (tile_size - 1); }
    HALO_INLINE unsigned meta_group_rank() const { return rank_; }
    HALO_INLINE unsigned meta_group_size() const { return groups_; }
    template <class Value> HALO_INLINE Value shfl_xor(Value value, unsigned mask, unsigned line = __builtin_LINE()) const {
        unsigned from = rank() ^ mask;
        return this->take(value, from < tile_size ? from : rank(), line);
    }
    // What lanes_together asks.
    HALO_INLINE static unsigned rank() { return thread_rank(); }
    HALO_INLINE static constexpr unsigned count() { return tile_size; }
    HALO_INLINE static unsigned wrapped(int rank) { return static_cast<unsigned>(rank) & (tile_size - 1); }
    HALO_INLINE static unsigned first_lane() { return halo::lane_number() & ~(tile_size - 1); }
    HALO_INLINE static unsigned lane_of(unsigned rank) { return first_lane() + rank; }
    HALO_INLINE static unsigned packed(unsigned lanes) { return lanes >> first_lane() & (0xFFFFFFFFu >> (32 - tile_size)); }
    HALO_INLINE static unsigned lanes() { return 0xFFFFFFFFu >> (32 - tile_size) << first_lane(); }
    HALO_INLINE static thread_block_tile of(unsigned parent_rank, unsigned parent_size) {
        return thread_block_tile(parent_rank / tile_size, (parent_size + tile_size - 1) / tile_size);
    }

private:
    HALO_INLINE thread_block_tile(unsigned rank, unsigned groups) : Base(lanes()), rank_(rank), groups_(groups) {}
    unsigned rank_, groups_;
};

template <unsigned tile_size> HALO_INLINE thread_block_tile<tile_size, thread_block> tiled_partition(const thread_block& parent) {
    return thread_block_tile<tile_size, thread_block>::of(parent.thread_rank(), parent.size());
}
template <unsigned tile_size, unsigned parent_size, class Grandparent>
HALO_INLINE thread_block_tile<tile_size, thread_block_tile<parent_size, Grandparent>> tiled_partition(const thread_block_tile<parent_size, Grandparent>& parent) {
    static_assert(tile_size <= parent_size, "cooperative groups: a tile is no larger than what it is cut from");
    return thread_block_tile<tile_size, thread_block_tile<parent_size, Grandparent>>::of(parent.thread_rank(), parent_size);
}
// The size at run time: synchronisation and ranks only, as in CUDA. A power of two up to 32.
HALO_INLINE thread_group tiled_partition(const thread_group& parent, unsigned tile_size) {
    unsigned first = halo::lane_number() & ~(tile_size - 1), lanes = 0xFFFFFFFFu >> (32 - tile_size) << first;
    return thread_group(parent.lanes_ ? parent.lanes_ & lanes : lanes);
}

class coalesced_group : public lanes_together<coalesced_group> {
public:
    HALO_INLINE unsigned meta_group_rank() const { return 0; }
    HALO_INLINE unsigned meta_group_size() const { return 1; }
    HALO_INLINE unsigned rank() const { return packed(1u << halo::lane_number()) ? __builtin_popcount(lanes_ & ((1u << halo::lane_number()) - 1)) : 0; }
    HALO_INLINE unsigned count() const { return __builtin_popcount(lanes_); }
    HALO_INLINE unsigned wrapped(int rank) const { return static_cast<unsigned>(rank) % count(); }
    HALO_INLINE unsigned lane_of(unsigned rank) const { return nth_lane(lanes_, rank); }
    HALO_INLINE unsigned packed(unsigned lanes) const { return compressed(lanes, lanes_); }
    template <class Value> HALO_INLINE Value shfl_xor(Value value, unsigned mask, unsigned line = __builtin_LINE()) const {
        unsigned from = rank() ^ mask;
        return take(value, from < count() ? from : rank(), line);
    }

private:
    HALO_INLINE explicit coalesced_group(unsigned lanes) : lanes_together(lanes) {}
    friend coalesced_group coalesced_threads();
    HALO_UNOBSERVED static unsigned nth_lane(unsigned lanes, unsigned rank) {
        while (rank--) lanes &= lanes - 1;
        return lanes ? __builtin_ctz(lanes) : 0;
    }
    HALO_UNOBSERVED static unsigned compressed(unsigned value, unsigned lanes) {
        unsigned result = 0, place = 0;
        for (unsigned lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) result |= (value >> lane & 1) << place++;
        return result;
    }
};
HALO_INLINE coalesced_group coalesced_threads() { return coalesced_group(halo_activemask()); }

// The grid: who and how many, but no barrier across it.
class grid_group {
public:
    HALO_INLINE static unsigned long long block_rank() {
        return halo_block_index(0) + halo_grid_dim(0) * (halo_block_index(1) + static_cast<unsigned long long>(halo_grid_dim(1)) * halo_block_index(2));
    }
    HALO_INLINE static unsigned long long num_blocks() { return static_cast<unsigned long long>(halo_grid_dim(0)) * halo_grid_dim(1) * halo_grid_dim(2); }
    HALO_INLINE static unsigned long long thread_rank() { return block_rank() * halo::threads_of_block() + halo::thread_rank(); }
    HALO_INLINE static unsigned long long size() { return num_blocks() * halo::threads_of_block(); }
    HALO_INLINE static unsigned long long num_threads() { return size(); }
    HALO_INLINE static dim3 group_dim() { return dim3(halo_grid_dim(0), halo_grid_dim(1), halo_grid_dim(2)); }
    HALO_INLINE static dim3 dim_blocks() { return group_dim(); }
    HALO_INLINE static dim3 block_index() { return thread_block::group_index(); }
    template <class Unused = void> void sync(unsigned = 0) const {
        static_assert(halo::never<Unused>,
                      "the simulator has no barrier across the grid (grid_group::sync): split the kernel in two, or use a GPU and a cooperative launch");
    }
};
HALO_INLINE grid_group this_grid() { return grid_group(); }
template <class Unused = void> int this_cluster() {
    static_assert(halo::never<Unused>, "the simulator has no thread block clusters (this_cluster): this kernel needs a GPU");
    return 0;
}
template <class Group, class... Rest> void memcpy_async(const Group&, const Rest&...) {
    static_assert(halo::never<Group>, "the simulator has no asynchronous copies (cooperative_groups::memcpy_async): this kernel needs a GPU");
}

template <class Group> HALO_INLINE void sync(const Group& group, unsigned line = __builtin_LINE()) { group.sync(line); }
template <class Group> HALO_INLINE auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> HALO_INLINE auto group_size(const Group& group) { return group.size(); }

// ---- cooperative_groups/reduce.h and scan.h ----

template <class Value = void> struct plus { HALO_INLINE Value operator()(Value first, Value second) const { return first + second; } };
template <class Value = void> struct less { HALO_INLINE Value operator()(Value first, Value second) const { return second < first ? second : first; } };
template <class Value = void> struct greater { HALO_INLINE Value operator()(Value first, Value second) const { return first < second ? second : first; } };
template <class Value = void> struct bit_and { HALO_INLINE Value operator()(Value first, Value second) const { return first & second; } };
template <class Value = void> struct bit_or { HALO_INLINE Value operator()(Value first, Value second) const { return first | second; } };
template <class Value = void> struct bit_xor { HALO_INLINE Value operator()(Value first, Value second) const { return first ^ second; } };
#define HALO_ANY_VALUE(name, result) \
    template <> struct name<void> { template <class Value> HALO_INLINE Value operator()(Value first, Value second) const { return result; } };
HALO_ANY_VALUE(plus, first + second)
HALO_ANY_VALUE(less, second < first ? second : first)
HALO_ANY_VALUE(greater, first < second ? second : first)
HALO_ANY_VALUE(bit_and, first & second)
HALO_ANY_VALUE(bit_or, first | second)
HALO_ANY_VALUE(bit_xor, first ^ second)
#undef HALO_ANY_VALUE

// By halves: every lane ends with the same value. CUDA does not specify the order of a sum of floats.
template <unsigned tile_size, class Parent, class Value, class Operation>
HALO_INLINE Value reduce(const thread_block_tile<tile_size, Parent>& group, Value value, Operation&& operation, unsigned line = __builtin_LINE()) {
    for (unsigned distance = tile_size / 2; distance > 0; distance /= 2) value = operation(value, group.shfl_xor(value, distance, line));
    return value;
}
template <class Value, class Operation>
HALO_INLINE Value reduce(const coalesced_group& group, Value value, Operation&& operation, unsigned line = __builtin_LINE()) {
    Value total = group.shfl(value, 0, line);
    for (unsigned rank = 1; rank < group.count(); ++rank) total = operation(total, group.shfl(value, static_cast<int>(rank), line));
    return total;
}
template <class Group, class Value, class Operation>
HALO_INLINE Value inclusive_scan(const Group& group, Value value, Operation&& operation, unsigned line = __builtin_LINE()) {
    for (unsigned distance = 1; distance < group.count(); distance *= 2) {
        Value below = group.shfl_up(value, distance, line);
        if (group.rank() >= distance) value = operation(below, value);
    }
    return value;
}
template <class Group, class Value> HALO_INLINE Value inclusive_scan(const Group& group, Value value, unsigned line = __builtin_LINE()) {
    return inclusive_scan(group, value, plus<Value>(), line);
}
template <class Group, class Value, class Operation>
HALO_INLINE Value exclusive_scan(const Group& group, Value value, Operation&& operation, unsigned line = __builtin_LINE()) {
    Value before = group.shfl_up(inclusive_scan(group, value, operation, line), 1, line);
    return group.rank() == 0 ? Value() : before;
}
template <class Group, class Value> HALO_INLINE Value exclusive_scan(const Group& group, Value value, unsigned line = __builtin_LINE()) {
    return exclusive_scan(group, value, plus<Value>(), line);
}
// The first thread of a group does it, the others go on.
template <class Group, class Function> HALO_INLINE void invoke_one(const Group& group, Function&& function) {
    if (group.thread_rank() == 0) function();
}

}    // namespace cooperative_groups
}
