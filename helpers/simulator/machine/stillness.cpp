// stillness.cpp -- whether a block can still go on
#include "stillness.h"

#include <algorithm>

#include "paths.h"

namespace {

constexpr std::uint64_t first_look = 4;    // rounds
// Lanes that spin are let go on at a join now and then (schedule.cpp), which changes the paths.
constexpr std::uint64_t rounds_of_yields = 600;

std::uint64_t most_paths(const Worker& w) {
    std::size_t most = 1;
    for (const Warp& warp : w.warps) most = std::max(most, warp.paths.size());
    return most;
}

}    // namespace

std::uint32_t Stillness::yields_of(const Worker& w) {
    std::uint32_t yields = 0;
    for (const Warp& warp : w.warps) yields += warp.yields;
    return yields;
}

Stillness::Snapshot Stillness::snapshot(const Worker& w) {
    Snapshot now;
    const auto add = [&](const Frame& frame) {
        const std::size_t bytes = w.launch.program.functions[frame.function].frame_bytes;
        now.registers.insert(now.registers.end(), frame.slots, frame.slots + bytes);
    };
    for (const Warp& warp : w.warps) {
        std::vector<const Path*> paths;
        for (const Path& path : warp.paths) paths.push_back(&path);
        // A path that has had its turn goes to the end of the others.
        std::sort(paths.begin(), paths.end(),
                  [](const Path* a, const Path* b) { return a->lanes < b->lanes; });
        for (const Path* path : paths) {
            now.paths.insert(now.paths.end(),
                             {path->lanes, static_cast<std::uint64_t>(path->pc),
                              static_cast<std::uint64_t>(path->state)});
            for (const Frame* frame = path->frame; frame != nullptr && frame != &warp.bottom;
                 frame = frame->caller)
                add(*frame);
        }
        for (const Join& join : warp.joins)
            now.paths.push_back(join.used ? join.arrived : UINT64_MAX);
        now.paths.push_back(warp.resting);
        add(warp.bottom);
    }
    return now;
}

Stillness::Stuck Stillness::after_round(Worker& w) {
    const std::uint64_t rounds = ++rounds_ - begin_;
    if (begin_ != 0 && w.has_changed) end(w);
    if (begin_ != 0) {
        const bool yields = yields_of(w) != yields_;
        if (rounds == 2 * most_paths(w) || rounds == rounds_of_yields) {
            if (yields && rounds < rounds_of_yields) return {};
            const bool is_still = snapshot(w) == before_;
            end(w);
            if (!is_still) return {};
            for (Warp& warp : w.warps)
                for (const Path& path : warp.paths)
                    if (path.state == Path::READY) return {&warp, &path};
        }
        return {};
    }
    if (rounds_ < first_look || (rounds_ & (rounds_ - 1)) != 0) return {};
    begin_ = rounds_, yields_ = yields_of(w), before_ = snapshot(w);
    w.watches_changes = true, w.has_changed = false;
    return {};
}

void Stillness::end(Worker& w) { begin_ = 0, w.watches_changes = false; }
