import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EtcdGatewayOptions } from '../../../src/store/etcd/gateway.js'
import { paced, pause, slowness } from '../pace.js'
import { outline, pool, pools, versionOf } from '../pools.js'
import { type Setup, storeAt } from './part.js'

/**
 * How many times as fast the time passes in which a watch looks whether it has missed something.
 */
const HASTE = 20 / slowness
const hasty = (ms: number) => sleep(ms / HASTE)

/** What happens to watches to which nothing comes. */
export async function silence({ report, server: { url } }: Setup): Promise<void> {
  const write = async (name: string) => versionOf(await storeAt(url, { prefix: 'others' }).create(pool(name)))
  const compact = async (revision: string) => {
    const body = JSON.stringify({ revision, physical: true })
    const { status } = await fetch(`${url}/v3/kv/compaction`, { method: 'POST', body })
    assert.equal(status, 200)
  }

  await report.test(
    'a watch of keys that no client writes continues while others write, and the past is compacted',
    async () => {
      const starts: string[] = []
      const counting: EtcdGatewayOptions['fetch'] = (path, request) => {
        if (path.endsWith('/watch')) starts.push(JSON.parse(request.body).create_request.start_revision)
        return fetch(path, request)
      }
      const store = storeAt(url, { prefix: 'quiet', sleep: hasty, fetch: counting })
      const events = store.watch(pools)[Symbol.asyncIterator]()
      await events.next()
      const next = events.next()
      const past: string[] = []
      for (let i = 0; i < 50; i++) {
        past.push(await write(`quiet-${i}`))
        // all of the last two seconds is kept: 40 of them with less haste
        if (i >= 10) await compact(past[i - 10]!)
        await pause(200)
      }
      versionOf(await store.create(pool('a')))
      assert.deepEqual(outline([(await next).value!]), ['ADDED a'])
      await events.return?.()
      assert.ok(starts.length > 5, starts.join())
      assert.ok(BigInt(starts.at(-1)!) > BigInt(past[10]!), starts.join())
      return `${starts.length - 1} looks`
    },
  )

  await report.test('a silent watch that has missed what was compacted is told so', async () => {
    const reached = { isDown: false, isSilent: false }
    const failing: EtcdGatewayOptions['fetch'] = async (path, request) => {
      if (reached.isDown) throw new TypeError('fetch failed')
      const response = await fetch(path, request)
      return path.endsWith('/watch') ? silenced(response, () => reached.isSilent) : response
    }
    const store = storeAt(url, { prefix: 'silent', sleep: hasty, fetch: failing })
    const events = store.watch(pools)[Symbol.asyncIterator]()
    await events.next()
    const next = events.next()
    await pause(100)
    reached.isDown = true
    reached.isSilent = true
    versionOf(await storeAt(url, { prefix: 'silent' }).create(pool('a')))
    await pause(500)
    await compact(await write('silent'))
    await write('silent-too')
    reached.isDown = false
    reached.isSilent = false
    // many times as long as it has to be
    const step = await Promise.race([next, sleep(paced(15_000))])
    await events.return?.()
    assert.deepEqual(step && outline([step.value!]), ['STORE_VERSION_GONE'])
    return undefined
  })

  await report.test('a watch of a server that does not answer leaves no request', async () => {
    const sockets = new Set<Socket>()
    /** Those with a request. fetch of Node opens an idle connection for each that ends early. */
    const asked = new Set<Socket>()
    const mute = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('data', () => asked.add(socket))
      socket.once('close', () => asked.delete(socket))
    })
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const address = mute.address()
    assert.ok(typeof address === 'object' && address !== null)
    const answered: EtcdGatewayOptions['fetch'] = (path, request) => {
      return fetch(path.endsWith('/watch') ? `http://127.0.0.1:${address.port}` : path, request)
    }
    try {
      const store = storeAt(url, { prefix: 'mute', sleep: hasty, fetch: answered })
      const events = store.watch(pools)[Symbol.asyncIterator]()
      await events.next()
      const next = events.next()
      let most = 0
      for (let i = 0; i < 20; i++) {
        await write(`mute-${i}`)
        await pause(250)
        most = Math.max(most, asked.size)
      }
      await events.return?.()
      await next
      for (let tries = 0; asked.size > 0 && tries < 20; tries++) await pause(100)
      assert.deepEqual([asked.size, most <= 2], [0, true], `${asked.size} requests, and ${most} at most`)
      return `${most} requests at most`
    } finally {
      for (const socket of sockets) socket.destroy()
      mute.close()
    }
  })
}

/** A response whose stream says nothing more once it is silent. */
function silenced(response: Response, isSilent: () => boolean) {
  const stream = response.body!.getReader()
  let end = () => {}
  const ended = new Promise<{ done: true }>((resolve) => {
    end = () => resolve({ done: true })
  })
  let isLost = false
  const read = async () => {
    const step = await Promise.race([ended, stream.read()])
    isLost ||= isSilent()
    return isLost ? ended : step
  }
  const cancel = () => {
    end()
    return stream.cancel()
  }
  return { status: response.status, text: () => response.text(), body: { getReader: () => ({ read, cancel }) } }
}
