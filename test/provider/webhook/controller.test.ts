import { InCluster } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { answerReview, reviewedKinds } from 'ipam-kit/provider/webhook'
import { Controller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { claim, kinds, pool } from '../in-cluster/world.js'

test('the objects of a controller answer between its first lists and its end, and never with what may be old', async () => {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds: [...kinds, ...reviewedKinds] })
  const lab = unwrap(await store.create(pool(['10.0.0.1-10.0.0.9'])))
  unwrap(await store.create(claim('web')))
  const controller = new Controller({
    store,
    planners: [inCluster()],
    timers,
    onProblem: (problem) => expect.fail(problem.kind),
  })
  const { objects } = controller
  const [group, version] = InCluster.InClusterIPPool.info.apiVersion.split('/')
  const request = { uid: 'u', kind: { group, version, kind: lab.kind }, operation: 'DELETE', oldObject: lab }
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
  const said = async () => {
    const { response } = await answerReview(review, objects)
    return 'allowed' in response ? (response.status?.code ?? 'allowed') : 'converted'
  }

  expect(await said()).toBe(500)
  const running = controller.run()
  await timers.pass(10_000)
  expect(await said()).toBe(400)
  controller.stop()
  expect(await said()).toBe(500)
  await timers.pass(60_000)
  await running
  expect(await said()).toBe(500)
})
