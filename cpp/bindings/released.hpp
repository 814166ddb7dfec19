// The interpreter lock during a native call, and threads that compute while the interpreter ends.
//
// Python ends a daemon thread that asks for the lock after the interpreter has begun to end, by
// unwinding its stack (up to 3.13). Unwinding through C++ ends the process instead. Such threads
// are therefore put to sleep before they ask.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace lowdim {

namespace nb = nanobind;

namespace detail {

inline std::atomic<int> native_calls{0};  // of all threads but those of the pool
inline thread_local int own_calls = 0;    // of this thread
inline thread_local bool of_pool = false;
inline std::atomic<bool> ending{false};
inline std::thread::id ended_by;  // set before `ending`

#if defined(__unix__) || defined(__APPLE__)
// Other threads, and so their calls, do not exist in a forked child.
inline const int calls_fork_handler =
    pthread_atfork(nullptr, nullptr, [] { native_calls = own_calls; });
#endif

}  // namespace detail

// Releases the interpreter lock as long as it exists.
class Released {
  public:
    Released() {
        if (!detail::of_pool) {
            ++detail::own_calls;
            ++detail::native_calls;
        }
        state_ = PyEval_SaveThread();
    }

    ~Released() {
        if (detail::own_calls == 1 && interrupted()) {
            --detail::native_calls;
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
        PyEval_RestoreThread(state_);
        if (!detail::of_pool) {
            --detail::own_calls;
            --detail::native_calls;
        }
    }

    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

    // Whether the interpreter ends and this thread is not the one that ends it.
    static bool interrupted() {
        return detail::ending && !detail::of_pool && std::this_thread::get_id() != detail::ended_by;
    }

    // Called by the thread that ends the interpreter, which may still compute.
    static void interrupt_others() {
        detail::ended_by = std::this_thread::get_id();
        detail::ending = true;
    }

    // Waits for other threads that are about to ask for the lock, or run a Python function in a
    // native call; not for long, since what such a function does is not known.
    static void await_others() {
        const auto last = std::chrono::steady_clock::now() + kPatience;
        while (detail::native_calls > detail::own_calls && std::chrono::steady_clock::now() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

  private:
    static constexpr std::chrono::seconds kPatience{5};

    PyThreadState* state_;
};

}  // namespace lowdim
