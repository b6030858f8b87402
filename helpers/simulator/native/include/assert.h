// assert.h -- stands before the host's: an assertion that fails ends the launch with a finding
#undef assert
#ifdef NDEBUG
#define assert(condition) static_cast<void>(0)
#else
#define assert(condition) (static_cast<bool>(condition) ? static_cast<void>(0) : halo_assert_fail(#condition, __FILE__, __LINE__))
#endif
