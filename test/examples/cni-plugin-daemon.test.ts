import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { callDaemon, type DaemonCall } from '../../docs/examples/cni-plugin/call-daemon.js'
import { type Daemon, type DaemonOptions, startDaemon } from '../../docs/examples/cni-plugin/daemon.js'

const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-daemon-'))
let count = 0
const daemons: Daemon[] = []

afterAll(() => rmSync(folder, { recursive: true }))
afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop()
})

const newSocket = () => join(folder, `run-${count++}`, 'socket')

async function started(socket: string, options: Partial<DaemonOptions> = {}): Promise<Daemon> {
  const pluginOf = () => async () => ({ kind: 'done' as const })
  const daemon = await startDaemon(socket, { pluginOf, maxCalls: 10, receiveMs: 60_000, ...options })
  daemons.push(daemon)
  return daemon
}

const CONFIG = JSON.stringify({ cniVersion: '1.1.0', name: 'lab', ipam: {} })
const ENV = { CNI_COMMAND: 'STATUS', CNI_PATH: '/opt', HOME: '/root' }

async function call(socket: string, options: Partial<DaemonCall> = {}) {
  const stdin = Readable.from([Buffer.from(CONFIG)])
  const { stdout, exitCode } = await callDaemon(socket, { env: { ...ENV, CNI_COMMAND: 'DEL' }, stdin, ...options })
  const { code, msg } = stdout === '' ? {} : JSON.parse(stdout)
  return { exitCode, code, msg }
}

const DEL = { ...ENV, CNI_COMMAND: 'DEL', CNI_CONTAINERID: 'c1', CNI_IFNAME: 'net1' }
const SUCCESS = { exitCode: 0, code: undefined, msg: undefined }
const fallback = async () => ({ stdout: '', exitCode: 0 as const })

/** A socket that answers as it is told, with the mode of that of a daemon. */
async function stranger(socket: string, answer: (connection: Socket) => void): Promise<() => void> {
  await (await startDaemon(socket, { pluginOf: () => fallback as never, maxCalls: 1, receiveMs: 1 })).stop()
  const server = createServer({ allowHalfOpen: true }, answer).listen(socket)
  await once(server, 'listening')
  chmodSync(socket, 0o600)
  return () => server.close()
}

describe('a daemon', () => {
  test('is for its own user alone, and removes its socket', async () => {
    const socket = newSocket()
    const daemon = await started(socket)
    expect([statSync(socket).mode & 0o777, statSync(join(socket, '..')).mode & 0o777]).toEqual([0o600, 0o700])
    expect(await call(socket, { env: DEL })).toEqual(SUCCESS)
    await daemon.stop()
    expect(existsSync(socket)).toBe(false)
  })

  test('gets the variables of CNI and no others', async () => {
    const socket = newSocket()
    const seen: unknown[] = []
    await started(socket, {
      pluginOf: (given) => {
        seen.push(given)
        return async () => ({ kind: 'done' })
      },
    })
    await call(socket, { env: { ...DEL, CNI_NETNS: '/proc/self/ns/net' } })
    const { HOME: _, ...env } = DEL
    expect(seen).toEqual([{ env: { ...env, CNI_NETNS: '/proc/self/ns/net' }, isOwnNamespace: true }])
  })

  test('takes the place of one that was killed', async () => {
    const socket = newSocket()
    await (await started(socket)).stop()
    const program = `require('node:net').createServer().listen(${JSON.stringify(socket)}, () => console.log('up'))`
    const killed = spawn(process.execPath, ['-e', program])
    await once(killed.stdout, 'data')
    chmodSync(socket, 0o600)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    expect(existsSync(socket)).toBe(true)
    expect(await call(socket, { env: DEL })).toMatchObject({
      exitCode: 1,
      code: 11,
      msg: expect.stringMatching(/cannot be reached/),
    })
    expect(await call(socket, { env: DEL, fallback })).toEqual(SUCCESS)
    await started(socket)
    expect(await call(socket, { env: DEL })).toEqual(SUCCESS)
  })

  test('does not start beside another one, on a file, or on a socket that others can write to', async () => {
    const socket = newSocket()
    await started(socket)
    await expect(started(socket)).rejects.toThrow(`another daemon answers at ${socket}`)
    chmodSync(socket, 0o666)
    await expect(started(socket)).rejects.toThrow(`other users can write to ${socket}`)
    const file = join(folder, 'file')
    writeFileSync(file, 'kept')
    await expect(started(file)).rejects.toThrow(`${file} is not a socket`)
  })

  test('refuses a call more than it takes at a time, at once', async () => {
    const socket = newSocket()
    let end = () => {}
    const waiting = new Promise<void>((resolve) => {
      end = resolve
    })
    let began = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      began = resolve
    })
    const slow = async () => {
      began()
      await waiting
      return { kind: 'done' as const }
    }
    await started(socket, { pluginOf: () => slow, maxCalls: 1 })
    const first = call(socket, { env: DEL })
    await hasBegun
    const full = 'the daemon cannot be reached: it has too many calls'
    expect(await call(socket, { env: DEL })).toEqual({ exitCode: 1, code: 11, msg: full })
    expect(await call(socket, { env: DEL, fallback })).toEqual(SUCCESS)
    end()
    expect(await first).toEqual(SUCCESS)
  })

  test('ends the connection of a shim that is late, or sends no call', async () => {
    const socket = newSocket()
    await started(socket, { receiveMs: 20 })
    for (const text of ['{"env"', 'no call\n']) {
      const connection = connect({ path: socket, allowHalfOpen: true })
      if (text.endsWith('\n')) connection.end(text)
      else connection.write(text)
      await once(connection.resume(), 'end')
      connection.destroy()
    }
    expect(await call(socket, { env: DEL })).toEqual(SUCCESS)
  })
})

describe('a shim', () => {
  test('does not pass a call on to what is not the socket of its user', async () => {
    const socket = newSocket()
    expect(await call(socket)).toMatchObject({ code: 11, msg: expect.stringContaining('does not exist') })
    expect(await call(socket, { env: ENV })).toMatchObject({ code: 50 })
    await started(socket)
    chmodSync(socket, 0o622)
    expect(await call(socket)).toMatchObject({ code: 11, msg: expect.stringContaining('other users can write to') })
  })

  test.each<[string, (connection: Socket) => void, string]>([
    ['ends without an answer', (connection) => connection.destroy(), 'it ended before it answered'],
    ['sends half of an answer', (connection) => connection.end('{"stdout":"'), 'it ended before it answered'],
    ['never answers', () => {}, 'no answer within 0.2 s'],
  ])('does not carry out itself what a daemon has begun that %s', async (_, answer, problem) => {
    const socket = newSocket()
    const stop = await stranger(socket, answer)
    const given = await call(socket, { env: DEL, fallback, timeoutMs: 200 })
    expect(given).toEqual({ exitCode: 1, code: 11, msg: `the daemon has not answered: ${problem}` })
    stop()
  })
})
