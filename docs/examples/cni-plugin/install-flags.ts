import type { FlagOptions } from '../program/flags.js'

export const INSTALL_FLAGS = {
  plugin: { type: 'string', about: 'the bundle (.cjs), or the single executable, in the image: needed' },
  bin: { type: 'string', about: 'the folder of plugins of the node, as it is mounted: needed' },
  kubeconfig: { type: 'string', about: 'the file that is written, for root alone: needed' },
  name: { type: 'string', default: 'ipam-kit', about: 'the name that the runtime calls' },
  args: { type: 'string', default: '', about: 'flags of the plugin, as a shell reads them' },
  once: { type: 'boolean', default: false, about: 'ends when everything is installed' },
} as const satisfies FlagOptions
