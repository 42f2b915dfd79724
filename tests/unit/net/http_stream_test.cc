// Answers that go out piece by piece or are large: order, gathering, clients that leave or are slow.
#include <gtest/gtest.h>

#include <chrono>

#include "http_server_fixture.h"

namespace hookd::net {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kOldGet = "GET / HTTP/1.0\r\n\r\n";

std::string line(int number) { return fmt::format("{{\"event\":{}}}\n", number); }

TEST(ResponseStream, ManySmallWritesArriveInOrder) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/watch"));
  const auto stream = s.next_request().stream({.content_type = "application/json"});
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    expected += line(i);
    ASSERT_TRUE(stream.write(line(i)));
    if (i % 1000 == 999) s.loop.settle();
  }
  stream.end();
  EXPECT_FALSE(stream.write("late"));
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_TRUE(seen->result.has_value()) << seen->what();
  EXPECT_EQ(seen->head.header("content-type"), "application/json");
  EXPECT_EQ(seen->head.header("transfer-encoding"), "chunked");
  EXPECT_TRUE(seen->body == expected) << seen->body.size();
}

TEST(ResponseStream, LargePiecesArriveWhole) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  const auto stream = s.next_request().stream({.body = "first "});
  const std::string large(5u << 20, 'l');
  EXPECT_TRUE(stream.write(large));
  EXPECT_TRUE(stream.write(""));  // not the last chunk
  EXPECT_TRUE(stream.write(" small "));
  EXPECT_TRUE(stream.write(large));
  stream.end();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_TRUE(seen->body == "first " + large + " small " + large) << seen->what();
}

TEST(ResponseStream, HeadGoesOutBeforeAnythingIsWritten) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  const auto stream = s.next_request().stream({});
  ASSERT_TRUE(s.loop.until([&] { return seen->heads == 1; }));
  EXPECT_EQ(seen->done, 0);
}

TEST(ResponseStream, WhatIsWrittenInOneTurnGoesOutTogether) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(kGet);
  const auto stream = s.next_request().stream({});
  for (int i = 0; i < 500; ++i) stream.write(line(i));
  ASSERT_TRUE(raw.receives(line(499)));
  EXPECT_EQ(raw.pieces, 1);
  for (int i = 500; i < 1000; ++i) stream.write(line(i));
  ASSERT_TRUE(raw.receives(line(999)));
  EXPECT_EQ(raw.pieces, 2);
}

TEST(ResponseStream, ConnectionIsKeptAndTheNextRequestWaits) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(std::string(kGet) + "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = s.next_request().stream({});
  stream.write("one");
  ASSERT_TRUE(raw.receives("one"));
  s.loop.settle();
  EXPECT_EQ(s.requests.size(), 1u);
  stream.write("two");
  stream.end();
  EXPECT_EQ(s.requests.size(), 1u) << "no handler from inside a call";
  s.next_request()({.body = "answer to the next"});
  ASSERT_TRUE(raw.receives("answer to the next"));
  EXPECT_NE(raw.got.find("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos) << raw.got;
  EXPECT_FALSE(stream.write("three")) << "not into somebody else's answer";
  EXPECT_EQ(stream.queued(), 0u);
  stream.cut();
  s.loop.settle();
  EXPECT_FALSE(raw.ended);
}

TEST(ResponseStream, OldClientsReadUntilTheEndOfTheConnection) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(kOldGet);
  const auto stream = s.next_request().stream({});
  stream.write("one");
  stream.write("two");
  stream.end();
  ASSERT_TRUE(raw.closed());
  EXPECT_EQ(raw.end, boost::asio::error::eof);
  EXPECT_TRUE(raw.got.ends_with("\r\n\r\nonetwo")) << raw.got;
  EXPECT_EQ(raw.got.find("chunked"), std::string::npos) << raw.got;
}

TEST(ResponseStream, OldClientsSeeThatAStreamWasCut) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(kOldGet);
  const auto stream = s.next_request().stream({});
  stream.write("one");
  ASSERT_TRUE(raw.receives("one"));
  stream.cut();
  ASSERT_TRUE(raw.closed());
  EXPECT_EQ(raw.end, boost::asio::error::connection_reset);
}

TEST(ResponseStream, HeadRequestsGetNoBody) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = s.next_request().stream({});
  EXPECT_TRUE(stream.write("one"));
  ASSERT_TRUE(raw.receives("\r\n\r\n"));
  EXPECT_TRUE(stream.write("two"));
  stream.end();
  s.next_request()({.body = "second"});
  ASSERT_TRUE(raw.receives("second"));
  EXPECT_NE(raw.got.find("chunked\r\n\r\nHTTP/1.1 200"), std::string::npos) << raw.got;
}

TEST(ResponseStream, CutIsATransportErrorToTheClient) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  const auto stream = s.next_request().stream({});
  int told = 0;
  stream.on_closed([&] { ++told; });
  stream.write("one");
  ASSERT_TRUE(s.loop.until([&] { return seen->body == "one"; }));
  stream.cut();
  EXPECT_EQ(told, 0) << "nothing is called back from inside a call";
  EXPECT_FALSE(stream.write("two"));
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
  EXPECT_EQ(seen->body, "one");
  EXPECT_EQ(told, 1);
  EXPECT_EQ(s.server->connections(), 0u);
}

TEST(ResponseStream, CutBeforeTheFirstByte) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(kGet);
  s.next_request().stream({}).cut();
  ASSERT_TRUE(raw.closed());
  EXPECT_EQ(raw.got, "");
}

TEST(ResponseStream, DroppedWithoutAnEndIsCut) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  {
    const auto stream = s.next_request().stream({});
    const auto copy = std::make_unique<ResponseStream>(stream);
    stream.write("one");
    ASSERT_TRUE(s.loop.until([&] { return seen->body == "one"; }));
  }
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->code(), Errc::kTransport) << seen->what();
}

TEST(ResponseStream, ClientThatLeavesIsToldOnceWhileNothingIsWritten) {
  Server s;
  s.hold = true;
  auto seen = s.client.get(s.url("/"));
  const auto respond = s.next_request();
  int early = 0;
  respond.on_closed([&] { ++early; });
  const auto stream = respond.stream({});
  int told = 0;
  stream.on_closed([&] { ++told; });
  ASSERT_TRUE(s.loop.until([&] { return seen->heads == 1; }));
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return told == 1; }));
  EXPECT_FALSE(stream.write("one"));
  EXPECT_EQ(s.server->connections(), 0u);
  stream.cut();
  s.loop.settle();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(early, 0) << "the second call replaced the first";
  stream.on_closed([&] { told += 10; });
  EXPECT_EQ(told, 1);
  s.loop.settle();
  EXPECT_EQ(told, 11) << "who asks late is told soon";
}

TEST(ResponseStream, StreamTakesOverWhoIsToldByTheResponder) {
  Server s;
  s.hold = true;
  auto seen = s.client.get(s.url("/"));
  const auto respond = s.next_request();
  int told = 0;
  respond.on_closed([&] { ++told; });
  const auto stream = respond.stream({});
  ASSERT_TRUE(s.loop.until([&] { return seen->heads == 1; }));
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return told == 1; }));
}

TEST(ResponseStream, NobodyIsToldAfterTheEndOrTheServersEnd) {
  Server s;
  s.hold = true;
  int told = 0;
  auto raw = s.raw();
  raw.send(kGet);
  const auto ended = s.next_request().stream({});
  ended.on_closed([&] { ++told; });
  ended.end();
  ASSERT_TRUE(raw.receives("0\r\n\r\n"));
  raw.socket.close();
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 0; }));
  const auto seen = s.client.get(s.url("/"));
  const auto open = s.next_request().stream({});
  open.on_closed([&] { ++told; });
  s.server.reset();
  EXPECT_FALSE(open.write("one"));
  open.end();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(ResponseStream().write("nobody"));
}

TEST(ResponseStream, QueuedTellsHowFarTheClientIsBehind) {
  Server s;
  s.hold = true;
  RawClient raw(s.loop, s.server->port(), "127.0.0.1", 16'384, true);
  raw.send(kGet);
  const auto stream = s.next_request().stream({});
  const std::string piece(1u << 20, 'p');
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream.write(piece));
    s.loop.settle();
  }
  EXPECT_GT(stream.queued(), 1u << 20);
  EXPECT_LT(stream.queued(), 21u << 20);
  raw.resume();
  ASSERT_TRUE(s.loop.until([&] { return stream.queued() == 0; }));
  stream.end();
  ASSERT_TRUE(raw.receives("\r\n0\r\n\r\n"));
  EXPECT_GT(raw.got.size(), 20u << 20);
}

TEST(ResponseStream, SlowClientOverTheLimitIsCut) {
  Server s({.stream_queue_bytes = size_t{1} << 20});
  s.hold = true;
  RawClient raw(s.loop, s.server->port(), "127.0.0.1", 16'384, true);
  raw.send(kGet);
  const auto stream = s.next_request().stream({});
  bool told = false;
  stream.on_closed([&] { told = true; });
  const std::string piece(100'000, 'p');
  int written = 0;
  while (written < 1000 && stream.write(piece)) {
    ++written;
    s.loop.settle();
  }
  EXPECT_GT(written, 9);
  EXPECT_LT(written, 1000);
  ASSERT_TRUE(s.loop.until([&] { return told; }));
  EXPECT_EQ(s.server->connections(), 0u);
  raw.resume();
  EXPECT_TRUE(raw.closed());
}

TEST(ResponseStream, DrainLeavesStreamsToTheirEnd) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  const auto stream = s.next_request().stream({});
  s.server->drain();
  s.loop.settle();
  EXPECT_TRUE(stream.write("after"));
  stream.end();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->body, "after");
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 0; }));
}

TEST(Responder, ClientThatLeavesBeforeItsAnswerIsTold) {
  Server s;
  s.hold = true;
  auto seen = s.client.get(s.url("/"));
  const auto respond = s.next_request();
  int told = 0;
  respond.on_closed([&] { ++told; });
  s.loop.settle();
  EXPECT_EQ(told, 0);
  seen->call.reset();
  ASSERT_TRUE(s.loop.until([&] { return told == 1; }));
  respond({});
  s.loop.settle();
  EXPECT_EQ(told, 1);
}

TEST(Responder, ClientThatOnlyStoppedSendingGetsItsAnswer) {
  Server s;
  s.hold = true;
  auto raw = s.raw();
  raw.send(kGet);
  raw.socket.shutdown(boost::asio::ip::tcp::socket::shutdown_send);
  const auto respond = s.next_request();
  bool told = false;
  respond.on_closed([&] { told = true; });
  ASSERT_TRUE(s.loop.until([&] { return told; }));
  respond({.body = "all the same"});
  ASSERT_TRUE(raw.closed());
  EXPECT_TRUE(raw.got.ends_with("all the same")) << raw.got;
}

TEST(Responder, SecondAnswerIsAStreamOfNobody) {
  Server s;
  s.hold = true;
  const auto seen = s.client.get(s.url("/"));
  const auto respond = s.next_request();
  respond({.body = "first"});
  const auto stream = respond.stream({.body = "second"});
  EXPECT_FALSE(stream.write("third"));
  stream.end();
  ASSERT_TRUE(s.loop.until([&] { return seen->done == 1; }));
  EXPECT_EQ(seen->body, "first");
}

TEST(Responder, SlowReaderThatGoesOnReadingIsNotCut) {
  constexpr Duration kDeadline = milliseconds(500);
  Server s({.write_deadline = kDeadline});
  s.hold = true;
  RawClient raw(s.loop, s.server->port(), "127.0.0.1", 65'536, true);
  raw.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto start = s.loop.scheduler.now();
  const std::string body(32u << 20, 'b');
  s.next_request()({.body = body});
  std::string room(1u << 20, '\0');
  size_t got = 0;
  bool ended = false;
  Timer timer;
  std::function<void()> read_some = [&] {
    raw.socket.async_read_some(boost::asio::buffer(room), [&](const boost::system::error_code& error, size_t size) {
      got += size;
      ended = error.failed();
      if (ended) return;
      if (got % (1u << 20) < size)
        timer = s.loop.scheduler.after(milliseconds(40), [&] { read_some(); });
      else
        read_some();
    });
  };
  read_some();
  ASSERT_TRUE(s.loop.until([&] { return ended; }));
  EXPECT_GT(got, body.size());
  EXPECT_GT(s.loop.scheduler.now() - start, 2 * kDeadline) << "too quick to show anything";
}

TEST(Responder, ReaderThatTakesNothingIsCut) {
  Server s({.write_deadline = milliseconds(150)});
  s.hold = true;
  RawClient raw(s.loop, s.server->port(), "127.0.0.1", 16'384, true);
  raw.send(kGet);
  s.next_request()({.body = std::string(32u << 20, 'b')});
  ASSERT_TRUE(s.loop.until([&] { return s.server->connections() == 0; }));
  raw.resume();
  ASSERT_TRUE(raw.closed());
  EXPECT_LT(raw.got.size(), 32u << 20);
}

}  // namespace
}  // namespace hookd::net
