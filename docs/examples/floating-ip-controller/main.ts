#!/usr/bin/env node
// Floating IPs of OpenStack for claims and machines of Cluster API, as a controller on an API
// server, through @kubernetes/client-node.
//
//   KUBECONFIG=... tsx main.ts [--controllers pools,servers] [--call-seconds S] [--list-seconds S]
//   [--on-exhausted wait|fail]
//       [--release-when detached|instanceGone] [--cluster-identities] [--metrics PORT]
//       [--concurrency N] [--leader-elect=false] [--namespace NS] [--lease-duration S]
//       [--renew-deadline S] [--retry-period S]
//
// Any number of processes may run, and one of them works: the leader. Ends on SIGTERM and
// SIGINT when everything that it has begun is ended; with status 1 when it has lost its lease or
// cannot start, with 2 for wrong flags. rbac.yaml is what it may do.
import { now } from 'ipam-kit/node'
import { floatingIPPools, floatingServers, neutron } from 'ipam-kit/provider/openstack'
import { runProgram } from '../program/program.js'
import { callerOf } from './caller.js'
import { CLUSTER_IDENTITY, Credentials, loadYamlParser, NAMESPACE, SECRET } from './credentials.js'
import { CloudFigures } from './figures.js'
import { FLAGS, optionsOf } from './flags.js'
import { sendRequest } from './send.js'

const parse = await loadYamlParser((name) => import(name))

await runProgram({
  name: 'ipam-kit-floating-ip',
  flags: FLAGS,
  work(values) {
    const { controllers, callSeconds, listSeconds, onExhausted, releaseWhen, clusterIdentities } = optionsOf(values)
    const pools = floatingIPPools({ callSeconds, listSeconds })
    const servers = floatingServers({ onExhausted, releaseWhen, callSeconds })
    const figures = new CloudFigures(pools)
    return {
      planners: [
        ...(controllers.includes('pools') ? [pools] : []),
        ...(controllers.includes('servers') ? [servers] : []),
      ],
      kinds: [SECRET, ...(clusterIdentities ? [CLUSTER_IDENTITY, NAMESPACE] : [])],
      figures,
      controller: ({ store, identity }) => {
        const { read: credentials } = new Credentials({ store, parse, now, clusterIdentities })
        const cloud = neutron({ send: sendRequest, now, credentials, callSeconds })
        return { external: figures.counted(callerOf(cloud)), identity }
      },
    }
  },
})
