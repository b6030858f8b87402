// flow.h -- which of two basic blocks comes first, when the lanes of a warp stand at both
//
// A GPU lets lanes that leave a branch or a loop wait for the others where the ways meet again. The engine sees which block follows
// which, and numbers the blocks so that this happens when the lane with the lowest number always goes first: a block comes
// after all blocks that lead to it, and what follows a loop comes after every block of the loop. (The order in which a compiler
// lays out its blocks is not that order: the end of an outer loop may come before the body of an inner one.)
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

class Flow {
public:
    static constexpr std::uint32_t entry = 0;    // the block before a kernel's first

    void clear() { *this = Flow(); }
    // A lane went from one block to another.
    void saw(std::uint32_t from, std::uint32_t to) {
        std::uint64_t edge = std::uint64_t(from) << 32 | to;
        std::uint64_t& slot = seen_[(edge * 0x9E3779B97F4A7C15ull) >> 54];
        if (slot == edge) return;
        slot = edge;
        std::size_t first = node(from), second = node(to);
        auto& after = after_[first];
        if (std::find(after.begin(), after.end(), second) == after.end()) after.push_back(second), numbered_ = false;
    }
    std::uint32_t number(std::uint32_t block) {
        if (!numbered_) number_all();
        Recent& recent = recent_[block & (recent_.size() - 1)];
        if (recent.block != block) recent = {block, number_[node(block)]};
        return recent.number;
    }

private:
    struct Recent { std::uint32_t block = UINT32_MAX, number = 0; };
    std::unordered_map<std::uint32_t, std::size_t> nodes_;
    std::vector<std::vector<std::size_t>> after_;    // by node
    std::vector<std::uint32_t> number_;
    std::array<std::uint64_t, 1024> seen_{};
    std::array<Recent, 1024> recent_{};
    bool numbered_ = true;

    std::size_t node(std::uint32_t block) {
        auto [place, is_new] = nodes_.emplace(block, after_.size());
        if (is_new) after_.emplace_back(), number_.push_back(0);
        return place->second;
    }
    // Depth first from the entry. `visit(node)` after all that follows it; `back(from, to)` for an edge to a block not yet left.
    template <class Visit, class Back> void walk(Visit visit, Back back) const {
        enum State : char { NEW, OPEN, DONE };
        std::vector<char> state(after_.size(), NEW);
        std::vector<std::pair<std::size_t, std::size_t>> path;    // node, how many of its edges have been followed
        for (std::size_t start = 0; start < after_.size(); ++start) {
            if (state[start] != NEW) continue;
            state[start] = OPEN;
            path.push_back({start, 0});
            while (!path.empty()) {
                auto& [here, edge] = path.back();
                if (edge == after_[here].size()) {
                    state[here] = DONE;
                    visit(here);
                    path.pop_back();
                    continue;
                }
                std::size_t from = here, next = after_[here][edge++];
                if (state[next] == OPEN) back(from, next);
                if (state[next] == NEW) state[next] = OPEN, path.push_back({next, 0});
            }
        }
    }
    void number_all() {
        node(entry);
        std::vector<std::vector<std::size_t>> before(after_.size()), loops(after_.size());    // loops: the heads of those that hold it
        for (std::size_t n = 0; n < after_.size(); ++n)
            for (std::size_t next : after_[n]) before[next].push_back(n);
        walk([](std::size_t) {}, [&](std::size_t tail, std::size_t head) { add_loop(head, tail, before, loops); });
        // What shares the fewest loops with a block is followed first: so it is numbered last.
        for (std::size_t n = 0; n < after_.size(); ++n)
            std::stable_sort(after_[n].begin(), after_[n].end(), [&](std::size_t a, std::size_t b) {
                return shared(loops[n], loops[a]) < shared(loops[n], loops[b]);
            });
        auto last = static_cast<std::uint32_t>(after_.size());
        walk([&](std::size_t n) { number_[n] = --last; }, [](std::size_t, std::size_t) {});
        recent_.fill({});
        numbered_ = true;
    }
    // All blocks from which `tail` can be reached without passing `head` belong to the loop.
    static void add_loop(std::size_t head, std::size_t tail, const std::vector<std::vector<std::size_t>>& before,
                         std::vector<std::vector<std::size_t>>& loops) {
        auto join = [&](std::size_t n) {
            bool is_new = std::find(loops[n].begin(), loops[n].end(), head) == loops[n].end();
            if (is_new) loops[n].push_back(head);
            return is_new;
        };
        join(head);
        std::vector<std::size_t> rest;
        if (join(tail)) rest.push_back(tail);
        while (!rest.empty()) {
            std::size_t n = rest.back();
            rest.pop_back();
            for (std::size_t earlier : before[n])
                if (join(earlier)) rest.push_back(earlier);
        }
    }
    static std::size_t shared(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
        auto holds = [&](std::size_t head) { return std::find(b.begin(), b.end(), head) != b.end(); };
        return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), holds));
    }
};
