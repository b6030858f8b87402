// mma.h -- what it declares is in halo_mma.h
#pragma once
#include "halo_mma.h"
