import assert from 'node:assert/strict'
import { Client, eachOf } from '../controller/client.js'
import type { Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { assertOnlyUnreachable, Followed } from './followed.js'
import { PAGE, pagesFor } from './pages.js'
import { type Created, createPods, deletePod, patchLabels } from './pods.js'

/** How many Pods change in each way while a list or a watch is interrupted. */
const CHANGED = 40
const WRITES_AT_ONCE = 8
/** The API server looks every 15 s whether etcd was compacted. */
const NOTICED_SECONDS = 60
/** The key in etcd by which API servers learn of a compaction. */
const COMPACTED = 'compact_rev_key'

/** A compaction in the middle of a paged list, then one while a watch is cut off. */
export async function recovers(report: Report, server: RealKubernetes, created: readonly Created[]): Promise<void> {
  const changes = new Changes(server, created)
  const followed = await Followed.open(server)
  try {
    await report.test(
      'a list whose pages expire (410) is read again: no Pod is lost, and no deleted one stays',
      async () => {
        const listed = Math.floor(created.length / PAGE / 2)
        followed.line.before = async (path) => {
          if (!path.includes('continue=') || followed.line.lists.length !== listed) return
          await changes.make()
          await compact(server)
          await isExpired(server, path)
        }
        await followed.start()
        const lists = followed.line.lists.map(({ path, status }) => `${status} ${partsOf(path)}`)
        const pages = ['200 limit', ...Array(listed - 1).fill('200 limit continue')]
        assert.deepEqual(lists, [...pages, '410 limit continue', '200 '])
        assert.deepEqual(followed.problems, [])
        return `${await followed.assertEqual()} Pods`
      },
    )
    await report.test(
      'a watch that gets 410 ends, and all Pods are listed again: no Pod is lost, and no deleted one stays',
      async () => {
        const before = followed.line.lists.length
        followed.line.cut()
        await changes.make()
        await compact(server)
        // what the API server remembers of changes begins anew as well
        await server.restart()
        followed.line.mend()
        const pods = await followed.assertEqual()
        assert.equal(followed.line.goneWatches, 1)
        const lists = followed.line.lists.slice(before)
        assert.deepEqual(
          lists.map(({ status }) => status),
          lists.map(() => 200),
        )
        assert.equal(lists.length, pagesFor(pods))
        await changes.make()
        await followed.assertEqual()
        assert.equal(followed.line.lists.length, before + lists.length, 'a list more')
        assertOnlyUnreachable(followed.problems)
        return `${pods} Pods`
      },
    )
  } finally {
    await followed.stop()
  }
}

/** Changes some Pods in every way, other ones each time. */
class Changes {
  readonly #server: RealKubernetes
  readonly #left: Created[]
  /** The number of the next Pod that is added. */
  #next: number

  constructor(server: RealKubernetes, created: readonly Created[]) {
    this.#server = server
    // from the whole of the list: its first pages, and those that come later
    const byKey = [...created].sort((one, other) => (one.key < other.key ? -1 : 1))
    const step = Math.floor(created.length / (CHANGED * 10))
    this.#left = byKey.filter((_, index) => index % step === 0)
    this.#next = Math.max(...created.map(({ number }) => number)) + 1
  }

  async make(): Promise<void> {
    // a connection of its own: the server may have been restarted since
    const admin = new Client(this.#server, WRITES_AT_ONCE)
    const each = (pods: readonly Created[], change: (pod: Created) => Promise<unknown>) =>
      eachOf(pods, WRITES_AT_ONCE, change)
    try {
      await each(this.#take(), ({ key }) => deletePod(admin, key))
      await each(this.#take(), ({ key }) => patchLabels(admin, key, { changed: 'yes' }))
      // other Pods with the names of these
      const replaced = this.#take()
      await each(replaced, ({ key }) => deletePod(admin, key))
      await createPods(
        admin,
        replaced.map(({ number }) => number),
      )
      const added = await createPods(admin, this.#numbers())
      // some were there for a moment only
      await each(added.slice(0, CHANGED / 2), ({ key }) => deletePod(admin, key))
    } finally {
      admin.close()
    }
  }

  #take(): readonly Created[] {
    const taken = Array.from(
      { length: CHANGED },
      (_, nth) => this.#left[Math.floor((nth * this.#left.length) / CHANGED)]!,
    )
    const keys = new Set(taken.map(({ key }) => key))
    const left = this.#left.filter(({ key }) => !keys.has(key))
    this.#left.splice(0, this.#left.length, ...left)
    return taken
  }

  #numbers(): readonly number[] {
    return Array.from({ length: CHANGED }, () => this.#next++)
  }
}

/** Names the parameters by which a list is paged. */
function partsOf(path: string): string {
  const parameters = new URL(path, 'https://server').searchParams
  return ['limit', 'continue'].filter((name) => parameters.has(name)).join(' ')
}

/** Compacts etcd as an API server does every five minutes. */
async function compact({ etcdUrl }: RealKubernetes): Promise<void> {
  const call = async (path: string, body: object) => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return JSON.parse(text) as { header: { revision: string } }
  }
  const key = Buffer.from(COMPACTED).toString('base64')
  const { revision } = (await call('range', { key })).header
  await call('put', { key, value: Buffer.from(revision).toString('base64') })
  await call('compaction', { revision, physical: true })
}

/** Waits until the API server refuses the next page of a list. */
async function isExpired(server: RealKubernetes, path: string): Promise<void> {
  const token = new URL(path, server.url).searchParams.get('continue')!
  const next = `/api/v1/pods?limit=1&continue=${encodeURIComponent(token)}`
  await waitFor(async () => ((await server.request('GET', next)).status === 410 ? true : undefined), {
    seconds: NOTICED_SECONDS,
    else: 'the next page has not expired',
  })
}
