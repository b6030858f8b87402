// int_sums.h -- what atomicAdd adds up in ints: sums that 32 bits cannot hold
//
// An int may wrap on purpose, as a hash or a checksum does, and a sum may leave the range and come
// back. Two numbers of 16 bits may share an int, whose sign says nothing then. So a sum is told
// only if its numbers have one sign and are small, and if its bits are lost however they are read.
// It goes on as long as nothing but atomicAdd changes the element.
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>

#include "findings.h"

class IntSums {
public:
    void clear() { sums_.clear(); }
    // finding: of this addition, with its array and offset.
    void add(std::uint64_t address, std::int32_t old, std::int32_t added, const Finding& finding,
             Findings& findings) {
        Sum& sum = sums_[address];
        if (sum.last != old) report(sum, findings), sum = Sum();
        sum.total += added;
        sum.positive |= added > 0, sum.negative |= added < 0;
        sum.large |= added >= large || added <= -large;
        sum.last = static_cast<std::int32_t>(static_cast<std::uint32_t>(old) +
                                             static_cast<std::uint32_t>(added));
        if (sum.count == 0 && sum.is_lost()) sum.first = finding;
        if (sum.is_lost()) ++sum.count;
    }
    void report_all(Findings& findings) {
        for (auto& [address, sum] : sums_) report(sum, findings);
        clear();
    }

private:
    static constexpr std::int32_t large = 1 << 28;
    struct Sum {
        std::int64_t total = 0;
        std::int32_t last = 0;
        std::uint64_t count = 0;    // additions since the sum has been lost
        bool positive = false, negative = false, large = false;
        Finding first;
        bool is_lost() const { return total > UINT32_MAX || total < INT32_MIN; }
    };
    static void report(Sum& sum, Findings& findings) {
        if (sum.count == 0 || (sum.positive && sum.negative) || sum.large) return;
        std::snprintf(sum.first.text, sizeof sum.first.text, "%lld",
                      static_cast<long long>(sum.total));
        sum.first.count = sum.count;
        findings.add(sum.first);
    }

    std::map<std::uint64_t, Sum> sums_;    // by address; in order, so that findings are, too
};
