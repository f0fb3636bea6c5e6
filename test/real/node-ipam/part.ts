import { bundle } from '../bundle.js'
import type { Part } from '../report.js'
import { installClients } from '../servers/install.js'
import { manyNodes } from './many-nodes.js'
import { EXAMPLE, replays } from './traces.js'

/** The node IPAM controller of docs/examples, as people run it, with no more rights than its manifest gives it. */
export const nodeIPAMPart: Part = {
  name: 'node-ipam',
  about:
    'the example controller gives the subnets that kube-controller-manager and node-ipam-controller give, and no subnet twice through kills',
  async run(report, depth) {
    await installClients()
    const program = await bundle(EXAMPLE.main, 'node-ipam')
    await manyNodes(report, program, depth)
    await replays(report, program, depth)
  },
}
