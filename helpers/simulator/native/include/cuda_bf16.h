// cuda_bf16.h -- what it declares is in halo_bf16.h
#pragma once
#include "halo_bf16.h"
