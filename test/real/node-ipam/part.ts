import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { defects } from './defects.js'
import { manager } from './manager.js'
import { manyNodes } from './many-nodes.js'
import { requests } from './requests.js'
import { services } from './services.js'
import { EXAMPLE, replays } from './traces.js'

/**
 * The node IPAM controller of docs/examples, as people run it, with no more rights than its
 * manifest gives it.
 */
export const nodeIPAMPart: Part = {
  name: 'node-ipam',
  about:
    'the example controller gives the subnets that kube-controller-manager and node-ipam-controller give, and none twice; nothing of Services is repaired that is right',
  place: 'alone',
  async run(report, depth) {
    await installClients()
    const program = await bundle(EXAMPLE.main, 'node-ipam')
    await manyNodes(report, program, depth)
    await requests(report, depth)
    // most of this is waiting
    await Promise.all([
      replays(report, program, depth),
      (async () => {
        await services(report, depth)
        await defects(report, program)
        await manager(report, program)
      })(),
    ])
  },
}
