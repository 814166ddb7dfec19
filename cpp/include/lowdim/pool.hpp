// A pool of threads that wait for work, shared by all calls in a process.
//
// A call takes the threads that are idle, never waits for a busy one, and works itself: so calls
// may be nested and concurrent, and cannot block each other. A thread that was taken but has not
// woken up when the work is done is given back unused, so small tasks do not pay for waking
// threads.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace lowdim {

// What the threads of a call run: call(context, thread), which must not throw.
struct Task {
    void (*call)(void* context, int thread) = nullptr;
    void* context = nullptr;
};

class Pool {
  public:
    Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool();

    // Runs the task on the calling thread as number 0, and on up to n_threads - 1 others. Which
    // others, if any, take part is a matter of timing.
    void run(int n_threads, const Task& task);

    // Ends all threads; tasks then run on the calling thread alone. A task that is under way is
    // not waited for: a thread leaves it when it asks `closing`.
    void close();

    bool closing() const { return closing_.load(std::memory_order_relaxed); }

  private:
    class Worker;

    std::vector<Worker*> take(int wanted);

    std::mutex lock_;  // of workers_ and idle_
    std::atomic<bool> closing_{false};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Worker*> idle_;
};

// The pool of this process.
Pool& pool();

}  // namespace lowdim
