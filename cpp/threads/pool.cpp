#include "lowdim/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace lowdim {
namespace {

// How long a thread polls before it sleeps. It covers the time between two parallel loops of an
// iterative solver, so that the threads are still awake for the second.
constexpr std::chrono::microseconds kSpin{50};

void relax() {
#if defined(_MSC_VER) && defined(_M_X64)
    _mm_pause();
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
    asm volatile("yield");
#endif
}

// Waits until ready(state) and returns the state.
template <class Ready>
int await(const std::atomic<int>& state, bool spin, Ready&& ready) {
    int seen = state.load();
    if (spin && !ready(seen)) {
        const auto end = std::chrono::steady_clock::now() + kSpin;
        do {
            for (int turn = 0; turn < 16 && !ready(seen); ++turn) {
                relax();
                seen = state.load();
            }
        } while (!ready(seen) && std::chrono::steady_clock::now() < end);
    }
    while (!ready(seen)) {
        state.wait(seen);
        seen = state.load();
    }
    return seen;
}

}  // namespace

// A thread of the pool. Its state changes
//     idle -> assigned (by a call) -> running -> done (by the thread) -> idle (by the call),
// or assigned -> idle if the call ends before the thread begins. Any state but `running` may
// change to `stopped`, which is final.
class Pool::Worker {
  public:
    explicit Worker(bool spins) : spins_(spins), thread_([this] { loop(); }) {}

    void assign(const Task& task, int number) {
        task_ = task;
        number_ = number;
        change(kIdle, kAssigned);
        state_.notify_all();
    }

    // Returns when the thread does not use the task any more.
    void finish() {
        if (change(kAssigned, kIdle)) return;
        await(state_, true, [](int seen) { return seen != kRunning; });
        change(kDone, kIdle);
    }

    void stop() {
        for (int seen = state_.load(); seen != kStopped;) {
            if (seen == kRunning)
                seen = await(state_, false, [](int now) { return now != kRunning; });
            else if (state_.compare_exchange_strong(seen, kStopped))
                seen = kStopped;
        }
        state_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

  private:
    enum State : int { kIdle, kAssigned, kRunning, kDone, kStopped };

    bool change(int from, int to) { return state_.compare_exchange_strong(from, to); }

    void loop() {
#if defined(__linux__)
        pthread_setname_np(pthread_self(), "lowdim");  // shown by top and debuggers
#endif
        for (;;) {
            const int seen =
                await(state_, spins_, [](int now) { return now == kAssigned || now == kStopped; });
            if (seen == kStopped) return;
            if (!change(kAssigned, kRunning)) continue;  // the call has ended already
            task_.call(task_.context, number_);
            state_.store(kDone);
            state_.notify_all();
        }
    }

    std::atomic<int> state_{kIdle};
    const bool spins_;
    Task task_;
    int number_ = 0;
    std::thread thread_;  // last: it uses the others
};

Pool::Pool() = default;
Pool::~Pool() { close(); }

void Pool::run(int n_threads, const Task& task) {
    const std::vector<Worker*> helpers = take(n_threads - 1);
    int number = 0;
    for (Worker* helper : helpers) helper->assign(task, ++number);
    task.call(task.context, 0);
    for (Worker* helper : helpers) helper->finish();
    const std::lock_guard<std::mutex> hold(lock_);
    idle_.insert(idle_.end(), helpers.rbegin(), helpers.rend());  // fits, see `take`
}

void Pool::close() {
    {
        const std::lock_guard<std::mutex> hold(lock_);
        if (closing_.exchange(true)) return;
    }
    for (const auto& worker : workers_) worker->stop();
}

// Idle threads, those used last first, because they may still be awake. The pool grows to
// `wanted` threads: one fewer than the largest number that any call has asked for.
std::vector<Pool::Worker*> Pool::take(int wanted) {
    const std::lock_guard<std::mutex> hold(lock_);
    if (closing()) return {};
    while (int(workers_.size()) < wanted && int(idle_.size()) < wanted) {
        try {
            workers_.reserve(workers_.size() + 1);
            idle_.reserve(workers_.size() + 1);
            // Polling would only disturb the others if there are more threads than cores.
            const bool spins = workers_.size() + 2 <= std::thread::hardware_concurrency();
            workers_.push_back(std::make_unique<Worker>(spins));
        } catch (const std::system_error&) {
            break;  // the system gives no more threads: go on with those there are
        }
        idle_.insert(idle_.begin(), workers_.back().get());
    }
    const auto count = std::min(std::max(wanted, 0), int(idle_.size()));
    std::vector<Worker*> taken(idle_.rbegin(), idle_.rbegin() + count);
    idle_.resize(idle_.size() - size_t(count));
    return taken;
}

namespace {

// Never deleted: other threads may use it while the process ends.
std::atomic<Pool*> shared_pool{nullptr};

#if defined(__unix__) || defined(__APPLE__)
// The threads do not exist in a forked child, which therefore makes a pool of its own.
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { shared_pool = nullptr; });
#endif

}  // namespace

Pool& pool() {
    Pool* found = shared_pool.load();
    if (found == nullptr) {
        auto fresh = std::make_unique<Pool>();
        if (shared_pool.compare_exchange_strong(found, fresh.get())) found = fresh.release();
    }
    return *found;
}

}  // namespace lowdim
