// Compiled with each version of the client: it fits as it is.
import { KubeConfig, Watch } from '@kubernetes/client-node'
import { type ClientNodeConfig, type ClientNodeWatch, fromClientNode, kubernetesStore } from 'ipam-kit/store/kubernetes'

const config = new KubeConfig()
export const fits: [ClientNodeConfig, ClientNodeWatch] = [config, new Watch(config)]
export const store = kubernetesStore(fromClientNode(config, new Watch(config)), { sleep: async () => {} })

// @ts-expect-error a client that is none does not fit
fromClientNode({}, new Watch(config))
// @ts-expect-error nor does a config without its watch
fromClientNode(config, config)
