import { unwrap } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { EVENT, EventRecorder } from '../../docs/examples/program/events.js'

test.each(['.', '-', '-.'])(
  'the name of an Event is one that the server takes where that of its object is cut at %j',
  async (cut) => {
    const store = memoryStore({ now: () => 0, kinds: [EVENT] })
    const logged: string[] = []
    const recorder = new EventRecorder({
      store,
      component: 'test',
      now: () => 0,
      unique: () => '00000000-0000-4000-8000-000000000000',
      log: (text) => void logged.push(text),
    })
    const name = `${'a'.repeat(200 - cut.length)}${cut}${'b'.repeat(53)}`
    const about = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', namespace: 'default', name }
    await recorder.record({ kind: 'event', about, type: 'Warning', reason: 'PoolExhausted', message: 'full' })
    const [event] = unwrap(await store.list(EVENT)).items
    expect(event?.metadata.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    expect(event?.metadata.name.length).toBeLessThanOrEqual(253)
    expect(logged).toEqual([])
  },
)
