import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import type { OpenSocket } from "@patchbay/runtime/connection/connection";
import type { WebSocket } from "ws";
import type { Process, World } from "./world.ts";

/** Accepts a runtime's socket at a replica; undefined refuses it as unavailable. */
export type Listener = () => { process: Process; accept: (socket: WebSocket, transport: Duplex) => void } | undefined;

/** Code of a WebSocket that closed without a closing handshake. */
const LOST = 1006;
const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** The bytes below a socket, as its heartbeat counts them. */
class Transport {
  bytesRead = 0;
  cork(): void {}
  uncork(): void {}
}

/** One end of a simulated WebSocket, with the members of `ws` that the product uses. */
export class SimulatedSocket extends EventEmitter {
  readonly CONNECTING = CONNECTING;
  readonly OPEN = OPEN;
  readonly CLOSING = CLOSING;
  readonly CLOSED = CLOSED;
  readyState = CONNECTING;
  readonly bufferedAmount = 0;
  isPaused = false;
  readonly transport = new Transport();
  readonly process: Process;
  /** The other end. */
  peer: SimulatedSocket | undefined;
  /** True while frames in both directions are lost without a word. */
  isCut = false;
  readonly #world: World;
  /** Frames arrive in their order: not before the latest one that is on its way. */
  #arrivesAt = 0;

  constructor(world: World, process: Process) {
    super();
    this.#world = world;
    this.process = process;
    process.onKill(() => this.vanish());
  }

  send(text: string, sent?: () => void): void {
    this.#transmit((peer) => peer.emit("message", Buffer.from(text), false));
    if (sent) this.#world.after(0, this.process, sent);
  }

  ping(data = ""): void {
    this.#transmit((peer) => {
      peer.emit("ping");
      peer.#transmit((back) => back.emit("pong", Buffer.from(data)));
    });
  }

  close(code = 1000, reason = ""): void {
    if (this.readyState >= CLOSING) return;
    this.readyState = CLOSING;
    this.#transmit((peer) => {
      peer.#closed(code, reason);
      peer.#transmitClose((back) => back.#closed(code, reason));
    }, true);
  }

  terminate(): void {
    if (this.readyState === CLOSED) return;
    const { peer } = this;
    this.#world.after(0, this.process, () => this.#closed(LOST, ""));
    this.readyState = CLOSING;
    if (peer && !this.isCut) this.#world.after(this.#latency(), peer.process, () => peer.#closed(LOST, ""));
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  /** The process of this end was killed: its machine closes the connection, or the connection is silent. */
  vanish(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    const { peer } = this;
    if (!peer || this.isCut) return;
    if (this.#world.random.chance(0.2)) return;
    this.#world.after(this.#latency(), peer.process, () => peer.#closed(LOST, ""));
  }

  #latency(): number {
    return this.#world.random.between(0.1, 4);
  }

  #transmit(receive: (peer: SimulatedSocket) => void, evenClosing = false): void {
    if (this.readyState === OPEN || evenClosing) this.#transmitClose(receive);
  }

  #transmitClose(receive: (peer: SimulatedSocket) => void): void {
    const { peer } = this;
    if (!peer || this.isCut) return;
    const world = this.#world;
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#latency());
    world.after(this.#arrivesAt - world.now, peer.process, () => {
      if (this.isCut || peer.readyState === CLOSED) return;
      peer.transport.bytesRead++;
      receive(peer);
    });
  }

  #closed(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.emit("close", code, Buffer.from(reason));
  }
}

const asSocket = (socket: SimulatedSocket): WebSocket => socket as unknown as WebSocket;

/** Connects runtimes to replicas behind a load balancer. */
export function createNetwork(world: World, choose: Listener) {
  /** One end of each connection that was accepted. */
  const links = new Set<SimulatedSocket>();

  const openSocket: OpenSocket = () => {
    const socket = new SimulatedSocket(world, world.process);
    world.after(world.random.between(0.5, 5), socket.process, () => {
      if (socket.readyState !== CONNECTING) return;
      const at = choose();
      if (!at) return refuse(socket);
      const end = new SimulatedSocket(world, at.process);
      [socket.peer, end.peer] = [end, socket];
      socket.readyState = end.readyState = OPEN;
      links.add(end);
      end.once("close", () => links.delete(end));
      world.in(at.process, () => at.accept(asSocket(end), end.transport as unknown as Duplex));
      socket.emit("upgrade", { socket: socket.transport });
      socket.emit("open");
    });
    return asSocket(socket);
  };

  function refuse(socket: SimulatedSocket): void {
    socket.emit("error", new Error("connect ECONNREFUSED"));
    socket.terminate();
  }

  return {
    openSocket,
    /** Closes each connection without a closing handshake. */
    reset(): void {
      for (const link of links) link.terminate();
    },
    /** Silences each connection: both ends stay open, and what they send is lost. */
    silence(): void {
      for (const link of links) link.isCut = link.peer!.isCut = true;
    },
    /** Closes a connection, or silences it. */
    cut(random: World["random"]): boolean {
      const open = [...links].filter(({ readyState }) => readyState === OPEN);
      if (open.length === 0) return false;
      const link = random.pick(open);
      if (random.chance(0.5)) {
        link.isCut = link.peer!.isCut = true;
      } else {
        link.terminate();
      }
      return true;
    },
  };
}
