// cooperative_groups.h -- what it declares is in halo_groups.h
#pragma once
#include "halo_groups.h"
