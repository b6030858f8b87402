// cooperative_groups/reduce.h -- what it declares is in halo_groups.h
#pragma once
#include "../halo_groups.h"
