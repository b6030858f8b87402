// heap.cpp -- memory that kernels allocate themselves
#include "heap.h"

#include <algorithm>

#include "machine.h"

void Heap::begin_launch() {
    for (Block& block : blocks_) block.is_of_launch = false, block.region->fleeting = false;
}

std::uint64_t Heap::allocate(std::uint64_t bytes, std::uint64_t limit, const Place& place,
                             std::uint32_t first_block) {
    std::uint64_t used = 0;
    for (const Block& block : blocks_) used += block.region->bytes();
    if (bytes == 0 || used > limit || bytes > limit - used) return 0;
    const std::uint64_t address = memory.allocate(bytes);
    if (address == 0) return 0;
    Region* const region = memory.find(address);
    region->oldest = first_block, region->fleeting = true;
    blocks_.push_back({region, place, true});
    return address;
}

bool Heap::release(std::uint64_t address) {
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [=](const Block& block) {
        return block.region->start == address;
    });
    if (found == blocks_.end()) return false;
    found->region->forget_races();
    former_.emplace_back(address, found->region->bytes());
    if (former_.size() > most_former) former_.pop_front();
    freed_.push_back({*found, memory.take(found->region)});
    blocks_.erase(found);
    return true;
}

bool Heap::was_freed(std::uint64_t address) const {
    return std::any_of(former_.begin(), former_.end(),
                       [=](const auto& one) { return one.first == address; });
}

void Heap::undo_launch() {
    revive();
    end_own();
}

void Heap::end_own() {
    for (const Block& block : blocks_)
        if (block.is_of_launch) memory.release(block.region->start);
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(),
                                 [](const Block& block) { return block.is_of_launch; }),
                  blocks_.end());
}

// Takes back what the launch has freed.
void Heap::revive() {
    for (Freed& one : freed_) {
        const auto is_same = [&](const auto& gone) { return gone.first == one.region->start; };
        if (auto known = std::find_if(former_.rbegin(), former_.rend(), is_same);
            known != former_.rend())
            former_.erase(std::next(known).base());
        blocks_.push_back(one.block);
        memory.put(std::move(one.region));
    }
    freed_.clear();
}

void Heap::exchange() {
    if (!revived_.empty()) {
        for (const Region* region : revived_) release(region->start);
        revived_.clear();
        return;
    }
    for (const Freed& one : freed_) revived_.push_back(one.region.get());
    revive();
}

void Heap::forget_before() {
    for (Freed& one : freed_) memory.discard(std::move(one.region));
    freed_.clear(), revived_.clear();
}

void Heap::end() {
    forget_before();
    for (const Block& block : blocks_) memory.release(block.region->start);
    blocks_.clear(), former_.clear();
}
