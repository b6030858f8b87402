// pycuda-complex.hpp -- complex numbers in kernels: pycuda::complex<float> and <double>, for the
// simulator
//
// Same names as PyCUDA's header. They are not aligned to their size, so that a load is two.
#pragma once
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max
#include <cmath>
#pragma pop_macro("max")
#pragma pop_macro("min")

extern "C++" {
namespace pycuda {

template <class T> struct complex {
    typedef T value_type;
    T _M_re, _M_im;

    __host__ __device__ complex() : _M_re(), _M_im() {}
    __host__ __device__ complex(const T& re, const T& im = T()) : _M_re(re), _M_im(im) {}
    template <class U>
    __host__ __device__ complex(const complex<U>& z) : _M_re(T(z.real())), _M_im(T(z.imag())) {}
    complex(const complex&) = default;
    complex& operator=(const complex&) = default;
    template <class U> __device__ complex& operator=(const complex<U>& z) {
        return _M_re = T(z.real()), _M_im = T(z.imag()), *this;
    }
    __device__ complex& operator=(const T& re) { return _M_re = re, _M_im = T(), *this; }
    __device__ complex(const volatile complex& z) : _M_re(z._M_re), _M_im(z._M_im) {}
    __device__ void operator=(const complex& z) volatile { _M_re = z._M_re, _M_im = z._M_im; }

    __device__ T real() const { return _M_re; }
    __device__ T imag() const { return _M_im; }
    __device__ void real(T re) { _M_re = re; }
    __device__ void imag(T im) { _M_im = im; }

    __device__ complex& operator+=(const complex& z) { return *this = *this + z; }
    __device__ complex& operator-=(const complex& z) { return *this = *this - z; }
    __device__ complex& operator*=(const complex& z) { return *this = *this * z; }
    __device__ complex& operator/=(const complex& z) { return *this = *this / z; }

    friend __device__ complex operator+(const complex& a, const complex& b) {
        return complex(a._M_re + b._M_re, a._M_im + b._M_im);
    }
    friend __device__ complex operator-(const complex& a, const complex& b) {
        return complex(a._M_re - b._M_re, a._M_im - b._M_im);
    }
    friend __device__ complex operator*(const complex& a, const complex& b) {
        return complex(a._M_re * b._M_re - a._M_im * b._M_im,
                       a._M_re * b._M_im + a._M_im * b._M_re);
    }
    friend __device__ complex
    operator/(const complex& a, const complex& b) {    // Smith's way: no overflow in between
        if ((b._M_re < 0 ? -b._M_re : b._M_re) >= (b._M_im < 0 ? -b._M_im : b._M_im)) {
            T ratio = b._M_im / b._M_re, scale = b._M_re + b._M_im * ratio;
            return complex((a._M_re + a._M_im * ratio) / scale,
                           (a._M_im - a._M_re * ratio) / scale);
        }
        T ratio = b._M_re / b._M_im, scale = b._M_re * ratio + b._M_im;
        return complex((a._M_re * ratio + a._M_im) / scale, (a._M_im * ratio - a._M_re) / scale);
    }
    friend __device__ complex operator+(const complex& a, const T& b) { return a + complex(b); }
    friend __device__ complex operator-(const complex& a, const T& b) { return a - complex(b); }
    friend __device__ complex operator*(const complex& a, const T& b) {
        return complex(a._M_re * b, a._M_im * b);
    }
    friend __device__ complex operator/(const complex& a, const T& b) {
        return complex(a._M_re / b, a._M_im / b);
    }
    friend __device__ complex operator+(const T& a, const complex& b) { return complex(a) + b; }
    friend __device__ complex operator-(const T& a, const complex& b) { return complex(a) - b; }
    friend __device__ complex operator*(const T& a, const complex& b) {
        return complex(a * b._M_re, a * b._M_im);
    }
    friend __device__ complex operator/(const T& a, const complex& b) { return complex(a) / b; }
    friend __device__ complex operator+(const complex& a) { return a; }
    friend __device__ complex operator-(const complex& a) { return complex(-a._M_re, -a._M_im); }
    friend __device__ bool operator==(const complex& a, const complex& b) {
        return a._M_re == b._M_re && a._M_im == b._M_im;
    }
    friend __device__ bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};

template <class T> __device__ inline T real(const complex<T>& z) { return z.real(); }
template <class T> __device__ inline T imag(const complex<T>& z) { return z.imag(); }
template <class T> __device__ inline complex<T> conj(const complex<T>& z) {
    return complex<T>(z.real(), -z.imag());
}
template <class T> __device__ inline T norm(const complex<T>& z) {
    return z.real() * z.real() + z.imag() * z.imag();
}
template <class T> __device__ inline T abs(const complex<T>& z) {
    return std::hypot(z.real(), z.imag());
}
template <class T> __device__ inline T arg(const complex<T>& z) {
    return std::atan2(z.imag(), z.real());
}
template <class T> __device__ inline complex<T> polar(const T& radius, const T& angle) {
    return complex<T>(radius * std::cos(angle), radius * std::sin(angle));
}

template <class T> __device__ inline complex<T> exp(const complex<T>& z) {
    return polar(std::exp(z.real()), z.imag());
}
template <class T> __device__ inline complex<T> log(const complex<T>& z) {
    return complex<T>(std::log(abs(z)), arg(z));
}
template <class T> __device__ inline complex<T> log10(const complex<T>& z) {
    return log(z) / std::log(T(10));
}
template <class T> __device__ inline complex<T> sqrt(const complex<T>& z) {
    T size = std::sqrt((abs(z) + std::fabs(z.real())) / 2);
    if (size == 0) return complex<T>();
    T other = z.imag() / (2 * size);
    return z.real() >= 0 ? complex<T>(size, other)
                         : complex<T>(std::fabs(other), z.imag() < 0 ? -size : size);
}
template <class T> __device__ inline complex<T> sin(const complex<T>& z) {
    return complex<T>(std::sin(z.real()) * std::cosh(z.imag()),
                      std::cos(z.real()) * std::sinh(z.imag()));
}
template <class T> __device__ inline complex<T> cos(const complex<T>& z) {
    return complex<T>(std::cos(z.real()) * std::cosh(z.imag()),
                      -std::sin(z.real()) * std::sinh(z.imag()));
}
template <class T> __device__ inline complex<T> sinh(const complex<T>& z) {
    return complex<T>(std::sinh(z.real()) * std::cos(z.imag()),
                      std::cosh(z.real()) * std::sin(z.imag()));
}
template <class T> __device__ inline complex<T> cosh(const complex<T>& z) {
    return complex<T>(std::cosh(z.real()) * std::cos(z.imag()),
                      std::sinh(z.real()) * std::sin(z.imag()));
}
template <class T> __device__ inline complex<T> tan(const complex<T>& z) { return sin(z) / cos(z); }
template <class T> __device__ inline complex<T> tanh(const complex<T>& z) {
    return sinh(z) / cosh(z);
}

template <class T> __device__ inline complex<T> pow(const complex<T>& z, int n) {
    complex<T> result(T(1)), square = n < 0 ? complex<T>(T(1)) / z : z;
    for (unsigned bits = n < 0 ? 0u - unsigned(n) : unsigned(n); bits != 0; bits /= 2) {
        if (bits % 2) result *= square;
        square *= square;
    }
    return result;
}
template <class T> __device__ inline complex<T> pow(const complex<T>& z, const complex<T>& w) {
    return z == complex<T>() ? complex<T>() : exp(w * log(z));
}
template <class T> __device__ inline complex<T> pow(const complex<T>& z, const T& w) {
    return pow(z, complex<T>(w));
}
template <class T> __device__ inline complex<T> pow(const T& z, const complex<T>& w) {
    return pow(complex<T>(z), w);
}

}    // namespace pycuda
}    // extern "C++"
