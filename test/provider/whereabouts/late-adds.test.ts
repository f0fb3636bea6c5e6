import { Pod } from 'ipam-kit/crd/core'
import { describe, expect, test } from 'vitest'
import { claim, podObject, World } from './world.js'

// Found by `npm run simulate -- --system whereabouts`: the kubelet does not wait for an ADD, and the
// Pod is made anew meanwhile.

const RANGE = { range: '10.0.0.0/24' }
const rest = { args: { cni: { 'ipam-claim-reference': 'vm1.net' } } }

/** A Pod of an old name has the row of the claim. */
async function withLaterPod(annotations?: Record<string, string>): Promise<readonly [World, string]> {
  const world = new World()
  const pod = podObject('vm', {})
  await world.create(claim('vm1.net'), { ...pod, metadata: { ...pod.metadata, ...(annotations && { annotations }) } })
  const uid = (await world.get(Pod.info, 'vm', 'ns')).metadata.uid as string
  expect(await world.add(RANGE, { pod: 'vm', uid, container: 'new', rest })).toEqual(['10.0.0.1/24'])
  return [world, uid]
}

describe('an ADD of a container whose Pod is gone', () => {
  const old = { pod: 'vm', container: 'old', rest }

  test('takes no row over from a later Pod of the name', async () => {
    const [world] = await withLaterPod()
    const refusal = 'noPod: Pod ns/vm with the uid old-uid does not exist any more'
    expect(await world.add(RANGE, { ...old, uid: 'old-uid' })).toBe(refusal)
    expect(await world.add(RANGE, { ...old, rest: {}, uid: 'old-uid' }, { sticky: 'pod' })).toBe(refusal)
    expect(await world.rows()).toEqual(['10.0.0.1 new/net1 ns/vm'])
    await world.remove(Pod.info, 'vm', 'ns')
    expect(await world.add(RANGE, { ...old, uid: 'old-uid' })).toBe(refusal)
  })

  test('reads the Pod again when the row is that of a later container', async () => {
    const [world, uid] = await withLaterPod()
    const { store } = world
    let isDone = false
    const { patch } = store
    // the Pod is made anew between the read of the Pod and the write of the row
    Object.assign(store, {
      patch: async (...given: Parameters<typeof patch>) => {
        if (!isDone && given[0].kind === 'IPPool') {
          isDone = true
          await world.remove(Pod.info, 'vm', 'ns')
          await world.create(podObject('vm', {}))
          const later = (await world.get(Pod.info, 'vm', 'ns')).metadata.uid as string
          expect(await world.add(RANGE, { pod: 'vm', uid: later, container: 'newest', rest })).toEqual(['10.0.0.1/24'])
        }
        return patch.call(store, ...given)
      },
    })
    expect(await world.add(RANGE, { ...old, uid })).toBe(`noPod: Pod ns/vm with the uid ${uid} does not exist any more`)
    expect(await world.rows()).toEqual(['10.0.0.1 newest/net1 ns/vm'])
  })
})

test('another container of the same Pod takes the row over, also of a static Pod', async () => {
  const [world, uid] = await withLaterPod({ 'kubernetes.io/config.mirror': 'hash' })
  expect(await world.add(RANGE, { pod: 'vm', uid, container: 'c2', rest })).toEqual(['10.0.0.1/24'])
  expect(await world.add(RANGE, { pod: 'vm', uid: 'hash', container: 'c3', rest })).toEqual(['10.0.0.1/24'])
  // without the uid of the Pod its name counts
  expect(await world.add(RANGE, { pod: 'vm', container: 'c4', rest })).toEqual(['10.0.0.1/24'])
  expect(await world.rows()).toEqual(['10.0.0.1 c4/net1 ns/vm'])
})
